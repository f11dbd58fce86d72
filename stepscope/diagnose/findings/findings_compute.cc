// SPDX-License-Identifier: Apache-2.0
// What the device's own time could do without.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/fit/roofline.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

std::string percent(double share) { return format_percent(share); }

struct ProductTime {
  Ns all{};
  Ns below{};    // of products below threshold::good_product_share
  Ns at_good{};  // what these would take at it
  const OperatorRow* worst = nullptr;
  const RankResult* rank = nullptr;
  double worst_share = 1;
};

ProductTime products_of(const FindingList& list) {
  ProductTime p;
  const Machine* machine = list.context().machine;
  for (const RankResult& r : list.job().ranks)
    for (const OperatorRow& row : r.operators) {
      if (row.kind != NameClass::matmul && row.kind != NameClass::attention) continue;
      p.all += row.device;
      if (machine == nullptr) continue;
      const auto share = place_on_roofline(roofline_work(row), *machine).peak_share;
      if (!share || *share >= threshold::good_product_share || *share <= 0) continue;
      p.below += row.device;
      p.at_good += Ns{static_cast<std::int64_t>(static_cast<double>(row.device.count()) * *share /
                                                threshold::good_product_share)};
      if (p.worst == nullptr || row.device > p.worst->device) {
        p.worst = &row;
        p.rank = &r;
        p.worst_share = *share;
      }
    }
  return p;
}

double fraction(Ns part, Ns whole) {
  return whole <= Ns{0} ? 0
                        : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

Ns times(Ns time, double factor) {
  return Ns{static_cast<std::int64_t>(static_cast<double>(time.count()) * factor)};
}

// All compute of the path, bounded by what part of products could be saved.
void find_product_efficiency(FindingList& list) {
  const ProductTime p = products_of(list);
  if (p.worst == nullptr) return;
  Finding f;
  f.id = "low_matmul_efficiency";
  f.what = fmt::format("Matrix products run below {} of the peak of their format",
                       percent(threshold::good_product_share));
  f.evidence.push_back(
      fmt::format("{} of the products' device time is below; most in {} {} at {} of the peak",
                  percent(fraction(p.below, p.all)), printable((*p.rank->strings)[p.worst->name]),
                  printable((*p.rank->strings)[p.worst->dims]), percent(p.worst_share)));
  f.advice =
      "Larger micro-batches, dimensions that are multiples of 64 (vocabulary padded), fused "
      "projections (QKV, gate and up), a lower precision, torch.compile max-autotune";
  f.place = list.place_on_path("matmul");
  const Ns path = list.on_path("matmul") + list.on_path("attention");
  list.add_bounded(std::move(f), times(path, fraction(p.below - p.at_good, p.all)),
                   "products on the critical path at 70 % of the peak");
}

void find_short_products(FindingList& list) {
  Ns all{};
  Ns small{};
  std::uint64_t count = 0;
  for (const RankResult& r : list.job().ranks) {
    if (r.device == "cpu") continue;
    for (const KernelRow& k : r.kernels.kernels) {
      if (k.kind != NameClass::matmul || k.count == 0) continue;
      all += k.total;
      if (k.mean() >= threshold::short_product) continue;
      small += k.total;
      count += k.count;
    }
  }
  if (fraction(small, all) < threshold::many_short_products) return;
  Finding f;
  f.id = "small_matmuls";
  f.what = "Many matrix products are too short to fill the device";
  f.evidence.push_back(fmt::format("{} products of less than {} on average are {} of their time",
                                   count, format_time(threshold::short_product),
                                   percent(fraction(small, all))));
  f.advice = "Batch them (bmm, grouped GEMM for experts), fuse projections, larger micro-batches";
  f.place = list.place_on_path("matmul");
  list.add_bounded(std::move(f), times(list.on_path("matmul"), fraction(small, all) / 2),
                   "half of their time on the critical path");
}

// Whether a GPU that the catalogue lacks has neither bf16 nor TF32: NVIDIA's before Ampere, by its
// name or that of cuBLAS' kernels.
bool before_ampere(const JobResult& job) {
  constexpr std::array<std::string_view, 9> older = {
      "V100", "P100", "TITAN V", "TITAN RTX", "RTX 20", "Tesla T4", "GTX", "Quadro", "K80"};
  for (const RankResult& r : job.ranks) {
    if (std::ranges::any_of(older, [&](std::string_view name) {
          return r.gpu_name.find(name) != std::string::npos;
        }))
      return true;
    for (const KernelRow& k : r.kernels.kernels)
      if ((*r.strings)[k.name].starts_with("volta_")) return true;
  }
  return false;
}

// Formats with a higher peak than fp32 that the device has.
std::string faster_formats(const FindingContext& context) {
  const auto has = [&](Dtype d) {
    return context.machine->peak_rates[static_cast<std::size_t>(d)].has_value();
  };
  const bool known = context.machine != nullptr;
  const bool old = before_ampere(context.job);
  if (!known && !old)
    return "autocast to bf16 (fp16 on devices without it), TF32 where the device has it "
           "(torch.set_float32_matmul_precision('high'))";
  const std::string autocast =
      known && has(Dtype::bf16) && !old ? "autocast to bf16" : "autocast to fp16 with loss scaling";
  return known && has(Dtype::tf32)
             ? autocast + ", or torch.set_float32_matmul_precision('high') for TF32"
             : autocast;
}

// Products in single precision, and those that do not use tensor cores.
void find_precision(FindingList& list) {
  Ns all{};
  Ns single{};
  Ns without{};
  std::string example;
  for (const RankResult& r : list.job().ranks) {
    if (r.device == "cpu") continue;
    for (const OperatorRow& row : r.operators) {
      if (row.kind != NameClass::matmul) continue;
      all += row.device;
      if (row.precision == OperandFormat::fp32) single += row.device;
    }
    for (const KernelRow& k : r.kernels.kernels)
      if (k.kind == NameClass::matmul && k.tensor_core == false) {
        without += k.total;
        if (example.empty()) example = short_kernel_name((*r.strings)[k.name]);
      }
  }
  const Ns path = list.on_path("matmul");
  if (fraction(without, all) > threshold::many_slow_formats && !example.empty()) {
    Finding f;
    f.id = "tensor_cores_unused";
    f.what = "Matrix products do not use the tensor cores";
    f.evidence.push_back(fmt::format("{} of their time, e.g. {}",
                                     percent(std::min(1.0, fraction(without, all))), example));
    if (single > Ns{0})
      f.evidence.push_back(
          fmt::format("{} of it has single-precision operands", percent(fraction(single, all))));
    f.advice = capitalised(faster_formats(list.context())) +
               "; dimensions that are multiples of 8 (16-bit) or 16 (8-bit)";
    f.place = list.place_on_path("matmul");
    list.add_bounded(std::move(f), times(path, std::min(1.0, fraction(without, all)) / 2),
                     "half of their time on the critical path");
  } else if (fraction(single, all) > threshold::many_slow_formats) {
    Finding f;
    f.id = "fp32_matmuls";
    f.what = "Matrix products have single-precision operands";
    f.evidence.push_back(percent(fraction(single, all)) + " of their time");
    f.advice =
        capitalised(faster_formats(list.context())) + "; keep fp32 for sums, norms and the loss";
    f.place = list.place_on_path("matmul");
    list.add_bounded(std::move(f), times(path, fraction(single, all) / 2),
                     "half of their time on the critical path");
  }
}

// Of the device time that a compiler could fuse, the share that one has fused already: kernels that
// torch.compile generates, and those of XLA, which fuses what it can.
double fused_share(const FindingList& list) {
  Ns all{};
  Ns fused{};
  for (const RankResult& r : list.job().ranks)
    for (const KernelRow& k : r.kernels.kernels) {
      switch (k.kind) {
        case NameClass::elementwise:
        case NameClass::norm:
        case NameClass::softmax:
        case NameClass::reduction:
        case NameClass::quantize:
        case NameClass::loss:
          break;
        default:
          continue;
      }
      all += k.total;
      if (r.recording.format == "xplane" || (*r.strings)[k.name].starts_with("triton_"))
        fused += k.total;
    }
  return fraction(fused, all);
}

void find_fusable(FindingList& list) {
  const double fused = fused_share(list);
  const Ns path = list.on_path("elementwise") + list.on_path("norm") + list.on_path("softmax") +
                  list.on_path("reduction") + list.on_path("quantize") + list.on_path("loss");
  Finding f;
  f.id = "memory_bound";
  f.what =
      "Elementwise kernels, norms, reductions, quantization and losses that a compiler could fuse "
      "take part of the step";
  f.evidence.push_back(fmt::format("{} a step of the critical path ({})", format_time(path),
                                   percent(list.share(path))));
  for (const RankResult& r : list.job().ranks) {
    for (const KernelRow& k : r.kernels.kernels) {
      if (k.kind != NameClass::elementwise && k.kind != NameClass::norm) continue;
      f.evidence.push_back(fmt::format("most in {}: {} runs, {}",
                                       short_kernel_name((*r.strings)[k.name]), k.count,
                                       format_time(k.total)));
      break;
    }
    break;
  }
  // Who compiles has this advice behind him.
  const bool compiles = fused > threshold::mostly_fused;
  f.advice =
      std::string(list.pytorch() && !compiles ? "torch.compile, fused norms" : "Fused norms") +
      ", dropout, rotary embedding" +
      (list.trains() ? " and cross-entropy, fused AdamW" : " and sampling");
  if (compiles)
    f.evidence.push_back(
        fmt::format("a compiler has fused {} of their device time already", percent(fused)));
  f.place = list.place_on_path("elementwise");
  list.add_bounded(std::move(f), times(path, threshold::fusion_saves * (1 - fused)),
                   "half of what no compiler has fused, on the critical path");
}

void find_contention(FindingList& list) {
  Ns worst{};
  const Contention* most = nullptr;
  for (const RankResult& r : list.job().ranks) {
    if (!r.overlap || r.steps.empty()) continue;
    Ns lost{};
    for (const Contention& c : r.overlap->contention) lost += c.lost;
    lost /= std::ssize(r.steps);
    if (lost <= worst) continue;
    worst = lost;
    most = &r.overlap->contention.front();
  }
  if (most == nullptr) return;
  Finding f;
  f.id = "contention";
  f.what = "Kernels run slower while communication shares the device with them";
  f.evidence.push_back(fmt::format("{} takes {} × as long beside communication ({} runs)",
                                   short_kernel_name(most->name), format_digits(most->slowdown),
                                   most->count));
  f.advice =
      "Fewer channels or blocks for the communication (NCCL_MAX_CTAS, NCCL_NCHANNELS_PER_NET_"
      "PEER), copy engines or in-network reduction, another place to overlap it";
  list.add_bounded(std::move(f), worst, "time above the runs alone, of the worst rank");
}

void find_recompute(FindingList& list) {
  Ns repeated{};
  Ns step_time{};
  for (const RankResult& r : list.job().ranks)
    for (const ExecutedStep& s : r.executed.steps)
      for (const ExecutedProducts& p : s.products) {
        repeated += p.recompute_time;
        step_time += p.time;
      }
  if (repeated <= Ns{0}) return;
  std::optional<Bytes> headroom;
  for (const RankResult& r : list.job().ranks)
    for (const DeviceMemory& d : r.memory.devices)
      if (d.device >= 0 && d.headroom && (!headroom || d.headroom->value < headroom->value))
        headroom = d.headroom;
  Finding f;
  f.id = "recompute";
  f.what = "Activations are computed twice (checkpointing)";
  f.evidence.push_back(
      fmt::format("{} of the products' time is repeated", percent(fraction(repeated, step_time))));
  if (headroom)
    f.evidence.push_back(fmt::format("{} of device memory is free at the peak",
                                     format_bytes(static_cast<double>(headroom->value))));
  f.advice =
      "Where memory allows: checkpoint fewer layers or only attention (selective), or trade it "
      "for a larger ZeRO stage";
  const Ns path = list.on_path("matmul") + list.on_path("attention");
  list.add_bounded(std::move(f), times(path, fraction(repeated, step_time)),
                   "repeated products on the critical path");
}

}  // namespace

void find_compute(FindingList& list) {
  find_product_efficiency(list);
  find_short_products(list);
  find_precision(list);
  find_fusable(list);
  find_contention(list);
  find_recompute(list);
}

}  // namespace stepscope
