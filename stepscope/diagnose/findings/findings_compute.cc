// SPDX-License-Identifier: Apache-2.0
// What the device's own time could do without.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/fit/roofline.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"

namespace stepscope {
namespace {

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
  f.what = msg::found_slow_products(Percent{threshold::good_product_share});
  f.evidence.push_back(msg::products_below(
      Percent{fraction(p.below, p.all)}, printable((*p.rank->strings)[p.worst->name]),
      printable((*p.rank->strings)[p.worst->dims]), Percent{p.worst_share}));
  f.advice = msg::larger_products();
  f.place = list.place_on_path("matmul");
  const Ns path = list.on_path("matmul") + list.on_path("attention");
  list.add_bounded(std::move(f), times(path, fraction(p.below - p.at_good, p.all)),
                   msg::by_good_products());
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
  f.what = msg::found_short_products();
  f.evidence.push_back(
      msg::short_products(count, threshold::short_product, Percent{fraction(small, all)}));
  f.advice = msg::batch_products();
  f.place = list.place_on_path("matmul");
  list.add_bounded(std::move(f), times(list.on_path("matmul"), fraction(small, all) / 2),
                   msg::by_half_of_products());
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
Message faster_formats(const FindingContext& context) {
  const auto has = [&](Dtype d) {
    return context.machine->peak_rates[static_cast<std::size_t>(d)].has_value();
  };
  const bool known = context.machine != nullptr;
  const bool old = before_ampere(context.job);
  if (!known && !old) return msg::any_faster_format();
  return msg::faster_format(known && has(Dtype::bf16) && !old, known && has(Dtype::tf32));
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
    f.what = msg::found_no_tensor_cores();
    f.evidence.push_back(
        msg::time_and_example(Percent{std::min(1.0, fraction(without, all))}, example));
    if (single > Ns{0}) f.evidence.push_back(msg::single_operands(Percent{fraction(single, all)}));
    f.advice = msg::use_tensor_cores(faster_formats(list.context()));
    f.place = list.place_on_path("matmul");
    list.add_bounded(std::move(f), times(path, std::min(1.0, fraction(without, all)) / 2),
                     msg::by_half_of_products());
  } else if (fraction(single, all) > threshold::many_slow_formats) {
    Finding f;
    f.id = "fp32_matmuls";
    f.what = msg::found_single_products();
    f.evidence.push_back(msg::of_their_time(Percent{fraction(single, all)}));
    f.advice = msg::use_faster_format(faster_formats(list.context()));
    f.place = list.place_on_path("matmul");
    list.add_bounded(std::move(f), times(path, fraction(single, all) / 2),
                     msg::by_half_of_products());
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
  f.what = msg::found_memory_bound();
  f.evidence.push_back(msg::of_critical_path(path, Percent{list.share(path)}));
  for (const RankResult& r : list.job().ranks) {
    for (const KernelRow& k : r.kernels.kernels) {
      if (k.kind != NameClass::elementwise && k.kind != NameClass::norm) continue;
      f.evidence.push_back(msg::most_in(short_kernel_name((*r.strings)[k.name]), k.count, k.total));
      break;
    }
    break;
  }
  // Who compiles has this advice behind him.
  const bool compiles = fused > threshold::mostly_fused;
  f.advice = msg::fuse(list.pytorch() && !compiles, list.trains());
  if (compiles) f.evidence.push_back(msg::fused_already(Percent{fused}));
  f.place = list.place_on_path("elementwise");
  list.add_bounded(std::move(f), times(path, threshold::fusion_saves * (1 - fused)),
                   msg::by_half_of_fusable());
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
  f.what = msg::found_contention();
  f.evidence.push_back(msg::kernel_beside_communication(short_kernel_name(most->name),
                                                        Digits{most->slowdown}, most->count));
  f.advice = msg::fewer_channels();
  list.add_bounded(std::move(f), worst, msg::by_runs_alone());
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
  f.what = msg::found_recompute();
  f.evidence.push_back(msg::products_repeated(Percent{fraction(repeated, step_time)}));
  if (headroom) f.evidence.push_back(msg::memory_free(*headroom));
  f.advice = msg::checkpoint_less();
  const Ns path = list.on_path("matmul") + list.on_path("attention");
  list.add_bounded(std::move(f), times(path, fraction(repeated, step_time)),
                   msg::by_repeated_products());
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
