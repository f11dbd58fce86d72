// SPDX-License-Identifier: Apache-2.0
// What the device's own time could do without.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/device_words.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/diagnose/verdict.h"
#include "stepscope/fit/roofline.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"

namespace stepscope {
namespace {

constexpr double nearly_all = 0.995;  // of the products' time: the rest is not worth a word

struct ProductTime {
  Ns all{};      // also those whose FLOPs are unknown: of graphs, of compiled code
  Ns known{};    // of products whose share of the peak is known
  Ns below{};    // of those, the ones below threshold::good_product_share
  Ns at_good{};  // what these would take at it
  const OperatorRow* worst = nullptr;
  const RankResult* rank = nullptr;
  double worst_share = 1;
};

bool is_of_products(const auto& row) {
  return row.kind == NameClass::matmul || row.kind == NameClass::attention;
}

Ns time_of_product_kernels(const RankResult& r) {
  Ns sum{};
  for (const KernelRow& k : r.work.kernels.kernels)
    if (is_of_products(k)) sum += k.total;
  return sum;
}

ProductTime products_of(const FindingList& list) {
  ProductTime p;
  const Machine* machine = list.context().machine;
  if (machine == nullptr) return p;
  for (const RankResult& r : list.job().ranks) {
    Ns of_operators{};
    for (const OperatorRow& row : r.work.operators) {
      if (!is_of_products(row)) continue;
      of_operators += row.device;
      const auto share = place_on_roofline(roofline_work(row), *machine).peak_share;
      if (!share || *share <= 0) continue;
      p.known += row.device;
      if (*share >= threshold::good_product_share) continue;
      p.below += row.device;
      p.at_good += Ns{static_cast<std::int64_t>(static_cast<double>(row.device.count()) * *share /
                                                threshold::good_product_share)};
      if (p.worst == nullptr || row.device > p.worst->device) {
        p.worst = &row;
        p.rank = &r;
        p.worst_share = *share;
      }
    }
    p.all += std::max(of_operators, time_of_product_kernels(r));
  }
  return p;
}

Ns times(Ns time, double factor) {
  return Ns{static_cast<std::int64_t>(static_cast<double>(time.count()) * factor)};
}

// The path has products whose FLOPs are unknown, and nothing is known of what these could save.
void find_product_efficiency(FindingList& list) {
  const ProductTime p = products_of(list);
  if (p.worst == nullptr) return;
  const Ns path = list.on_path("matmul") + list.on_path("attention");
  const double known = share_of_time(p.known, p.all);
  const Value of_known = value_if(known < nearly_all, Percent{known});
  list.add_bounded(
      {.id = "low_matmul_efficiency",
       .what = msg::found_slow_products(Percent{threshold::good_product_share}),
       .evidence = {msg::products_below(
           Percent{share_of_time(p.below, p.known)}, printable((*p.rank->strings)[p.worst->name]),
           printable((*p.rank->strings)[p.worst->dims]), Percent{p.worst_share}, of_known)},
       .place = list.place_on_path("matmul"),
       .advice = msg::larger_products()},
      times(path, share_of_time(p.below - p.at_good, p.all)), msg::by_good_products(of_known));
}

void find_short_products(FindingList& list) {
  Ns all{};
  Ns small{};
  std::uint64_t count = 0;
  for (const RankResult& r : list.job().ranks) {
    if (r.device.is_cpu()) continue;
    for (const KernelRow& k : r.work.kernels.kernels) {
      if (k.kind != NameClass::matmul || k.count == 0) continue;
      all += k.total;
      if (k.mean() >= threshold::short_product) continue;
      small += k.total;
      count += k.count;
    }
  }
  const double share = share_of_time(small, all);
  if (share < threshold::many_short_products) return;
  list.add_bounded(
      {.id = "small_matmuls",
       .what = msg::found_short_products(),
       .evidence = {msg::short_products(count, threshold::short_product, Percent{share})},
       .place = list.place_on_path("matmul"),
       .advice = msg::batch_products()},
      times(list.on_path("matmul"), share / 2), msg::by_half_of_products());
}

// Whether a GPU that the catalogue lacks has neither bf16 nor TF32: NVIDIA's before Ampere, by its
// name or that of cuBLAS' kernels.
bool before_ampere(const JobResult& job) {
  constexpr std::array<std::string_view, 9> older = {
      "V100", "P100", "TITAN V", "TITAN RTX", "RTX 20", "Tesla T4", "GTX", "Quadro", "K80"};
  for (const RankResult& r : job.ranks) {
    if (std::ranges::any_of(older, [&](std::string_view name) {
          return r.device.name.find(name) != std::string::npos;
        }))
      return true;
    for (const KernelRow& k : r.work.kernels.kernels)
      if ((*r.strings)[k.name].starts_with("volta_")) return true;
  }
  return false;
}

// Formats with a higher peak than fp32 that the device has. `tf32`: products in fp32 run on tensor
// cores, so they use TF32 already.
Message faster_formats(const FindingContext& context, bool tf32 = false) {
  const auto has = [&](Dtype d) {
    return context.machine->peak_rates[static_cast<std::size_t>(d)].has_value();
  };
  const bool known = context.machine != nullptr;
  const bool old = before_ampere(context.job);
  if (!known && !old) return tf32 ? msg::faster_format(true, false) : msg::any_faster_format();
  return msg::faster_format(known && has(Dtype::bf16) && !old, known && has(Dtype::tf32) && !tf32);
}

// Products in single precision, and those that do not use tensor cores.
void find_precision(FindingList& list) {
  Ns of_operators{};  // which have the formats of their operands, where these are known
  Ns known{};
  Ns single{};
  Ns all_kernels{};
  Ns without{};
  Ns on_cores{};
  std::string example;
  for (const RankResult& r : list.job().ranks) {
    if (r.device.is_cpu()) continue;
    for (const OperatorRow& row : r.work.operators) {
      if (row.kind != NameClass::matmul) continue;
      of_operators += row.device;
      if (row.precision != OperandFormat::other) known += row.device;
      if (row.precision == OperandFormat::fp32) single += row.device;
    }
    for (const KernelRow& k : r.work.kernels.kernels) {
      if (k.kind != NameClass::matmul) continue;
      all_kernels += k.total;
      if (k.tensor_core == true) on_cores += k.total;
      if (k.tensor_core == false) {
        without += k.total;
        if (example.empty()) example = short_kernel_name((*r.strings)[k.name]);
      }
    }
  }
  const double of_single = share_of_time(single, std::max(of_operators, all_kernels));
  Finding f{.place = list.place_on_path("matmul")};
  double slow = 0;
  if (share_of_time(without, all_kernels) > threshold::many_slow_formats && !example.empty()) {
    slow = share_of_time(without, all_kernels);
    f.id = "tensor_cores_unused";
    f.what = msg::found_no_tensor_cores();
    f.evidence.push_back(msg::time_and_example(Percent{slow}, example));
    if (single > Ns{0})
      f.evidence.push_back(msg::single_operands(Percent{share_of_time(single, known)}));
    f.advice = msg::use_tensor_cores(faster_formats(list.context()));
  } else if (of_single > threshold::many_slow_formats) {
    slow = of_single;
    f.id = "fp32_matmuls";
    f.what = msg::found_single_products();
    f.evidence.push_back(msg::of_their_time(Percent{slow}));
    const bool tf32 = share_of_time(on_cores, all_kernels) > threshold::many_slow_formats;
    f.advice = msg::use_faster_format(faster_formats(list.context(), tf32));
  } else {
    return;
  }
  list.add_bounded(std::move(f), times(list.on_path("matmul"), slow / 2),
                   msg::by_half_of_products());
}

bool is_fusable(const KernelRow& k) {
  switch (k.kind) {
    case NameClass::elementwise:
    case NameClass::norm:
    case NameClass::softmax:
    case NameClass::reduction:
    case NameClass::quantize:
    case NameClass::loss:
      return true;
    default:
      return false;
  }
}

// The share of the device time that a compiler could fuse and has fused already: kernels that
// torch.compile generates, and those of XLA, which fuses what it can.
double fused_share(const FindingList& list) {
  Ns all{};
  Ns fused{};
  for (const RankResult& r : list.job().ranks)
    for (const KernelRow& k : r.work.kernels.kernels) {
      if (!is_fusable(k)) continue;
      all += k.total;
      if (r.recording.format == "xplane" || (*r.strings)[k.name].starts_with("triton_"))
        fused += k.total;
    }
  return share_of_time(fused, all);
}

void find_fusable(FindingList& list) {
  const double fused = fused_share(list);
  const Ns path = list.on_path("elementwise") + list.on_path("norm") + list.on_path("softmax") +
                  list.on_path("reduction") + list.on_path("quantize") + list.on_path("loss");
  // Who compiles has this advice behind him.
  const bool compiles = fused > threshold::mostly_fused;
  Finding f{.id = "memory_bound",
            .what = msg::found_memory_bound(),
            .evidence = {msg::of_critical_path(path, Percent{list.share(path)})},
            .place = list.place_on_path("elementwise"),
            .advice = msg::fuse(list.pytorch() && !compiles, list.trains())};
  const RankResult& first = list.job().ranks.front();
  const auto most = std::ranges::find_if(first.work.kernels.kernels, is_fusable);
  if (most != first.work.kernels.kernels.end())
    f.evidence.push_back(
        msg::most_in(short_kernel_name((*first.strings)[most->name]), most->count, most->total));
  if (compiles) f.evidence.push_back(msg::fused_already(Percent{fused}));
  list.add_bounded(std::move(f), times(path, threshold::fusion_saves * (1 - fused)),
                   msg::by_half_of_fusable());
}

void find_contention(FindingList& list) {
  Ns worst{};
  const Contention* most = nullptr;
  for (const RankResult& r : list.job().ranks) {
    if (!r.work.overlap || r.steps.empty()) continue;
    Ns lost{};
    for (const Contention& c : r.work.overlap->contention) lost += c.lost;
    lost /= std::ssize(r.steps);
    if (lost <= worst) continue;
    worst = lost;
    most = &r.work.overlap->contention.front();
  }
  if (most == nullptr) return;
  list.add_bounded({.id = "contention",
                    .what = msg::found_contention(),
                    .evidence = {msg::kernel_beside_communication(
                        short_kernel_name(most->name), Digits{most->slowdown}, most->count)},
                    .advice = msg::fewer_channels()},
                   worst, msg::by_runs_alone());
}

void find_recompute(FindingList& list) {
  Ns repeated{};
  Ns step_time{};
  bool some_unknown = false;
  for (const RankResult& r : list.job().ranks)
    for (const ExecutedStep& s : r.work.executed.steps)
      for (const ExecutedProducts& p : s.products) {
        repeated += p.recompute_time;
        step_time += p.time + p.unknown_time;
        some_unknown = some_unknown || p.unknown_time > Ns{0};
      }
  if (repeated <= Ns{0}) return;
  std::optional<Bytes> headroom;
  for (const RankResult& r : list.job().ranks)
    for (const DeviceMemory& d : r.memory.devices)
      if (d.device >= 0 && d.headroom && (!headroom || d.headroom->value < headroom->value))
        headroom = d.headroom;
  const double share = share_of_time(repeated, step_time);
  Finding f{.id = "recompute",
            .what = msg::found_recompute(),
            .evidence = {msg::products_repeated(Percent{share}, some_unknown)},
            .advice = msg::checkpoint_less()};
  if (headroom) f.evidence.push_back(msg::memory_free(*headroom));
  const Ns path = list.on_path("matmul") + list.on_path("attention");
  list.add_bounded(std::move(f), times(path, share), msg::by_repeated_products());
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

// Memory near its limit, a device that others use too, and captures too short to judge by.
namespace {

void find_memory(FindingList& list) {
  for (const RankResult& r : list.job().ranks) {
    if (!r.device.memory || r.device.memory->value <= 0) continue;
    const auto whole = static_cast<double>(r.device.memory->value);
    for (const DeviceMemory& d : r.memory.devices) {
      if (d.device < 0) continue;
      if (d.headroom &&
          static_cast<double>(d.headroom->value) < threshold::memory_near_limit * whole)
        list.add({.id = "memory_near_limit",
                  .what = msg::found_full_memory(r.rank),
                  .evidence = {msg::left_at_peak(*d.headroom, *r.device.memory)},
                  .place = FindingPlace{r.rank, d.peak_time, Ns{0}},
                  .advice = msg::use_less_memory()});
      if (!d.peak_reserved) continue;
      const double unused = 1 - static_cast<double>(d.peak_allocated.value) /
                                    std::max(1.0, static_cast<double>(d.peak_reserved->value));
      if (unused < threshold::reserved_unused ||
          static_cast<double>(d.peak_reserved->value) < threshold::much_reserved * whole)
        continue;
      list.add({.id = "fragmentation",
                .what = msg::found_fragmentation(r.rank),
                .evidence = {msg::reserved_and_used(*d.peak_reserved, d.peak_allocated)},
                .advice = msg::take_snapshot(),
                .confidence = Confidence::low});
    }
  }
}

// The tool that lists the processes on the device of a rank.
Value process_tool(const JobResult& job, int rank) {
  const RankResult* r = find_rank(job.ranks, rank);
  const std::string_view device = r == nullptr ? "" : std::string_view(r->device.kind);
  if (device == "cuda") return "nvidia-smi";
  return device == "rocm" ? Value("rocm-smi --showpids") : Value(msg::devices_tool());
}

// Their stretches without work are as long as one another: another process's time slice.
void find_time_slices(FindingList& list, std::span<const HeldDevice> all) {
  Finding f{.id = "device_shared", .sort = FindingSort::fault};
  std::vector<int> ranks;
  const HeldDevice* worst = nullptr;
  for (const HeldDevice& held : all) {
    if (!held.slice) continue;
    ranks.push_back(held.rank);
    if (worst == nullptr || held.total > worst->total) worst = &held;
    if (f.evidence.size() == 3) continue;
    f.evidence.push_back(msg::slices_of_rank(held.rank, held.count, held.total, held.slice));
  }
  if (worst == nullptr) return;
  f.what = msg::found_time_slices(ranks);
  f.advice = msg::find_process(process_tool(list.job(), worst->rank));
  f.place = FindingPlace{worst->rank, worst->worst_at, worst->worst};
  list.add_replayed(std::move(f), list.what_if("device_alone"));
}

// Launched work that waits although its device shows none running.
void find_shared_device(FindingList& list) {
  // Without launches it is unknown what waited, and page faults hold a device, too.
  if (!list.job().explanation || only_communication(list.job()) || has_managed_memory(list.job()))
    return;
  find_time_slices(list, list.job().explanation->held);
  for (const HeldDevice& held : list.job().explanation->held) {
    if (held.slice) continue;
    const std::int64_t steps = std::max<std::int64_t>(1, std::ssize(list.job().steps.common));
    list.add_bounded({.id = "device_shared",
                      .sort = FindingSort::fault,
                      .what = msg::found_late_starts(held.rank),
                      .evidence = {msg::late_starts(held.count, held.median, held.total)},
                      .place = FindingPlace{held.rank, held.worst_at, held.worst},
                      .advice = msg::look_for_process(process_tool(list.job(), held.rank)),
                      .confidence = Confidence::low},
                     held.total / steps, msg::by_those_delays());
  }
}

void find_short_capture(FindingList& list) {
  const std::size_t steps = list.job().steps.common.size();
  if (steps >= threshold::enough_steps) return;
  const bool kineto = list.job().ranks.front().recording.format == "kineto";
  Finding f{.id = "too_few_steps",
            .what = steps > 0 && !is_window(list.job()) ? msg::found_few_steps(steps)
                    : is_window(list.job())             ? msg::found_no_mark()
                    : list.job().ranks.size() > 1       ? msg::found_no_common_step()
                                                        : msg::found_no_step(),
            .advice = msg::record_three_steps(kineto)};
  for (const MissingFact& m : missing_facts(list.job()))
    if (is_window(list.job()) && m.fact == Fact::steps && !m.record.empty())
      f.advice = msg::mark_steps(m.record);
  list.add(std::move(f));
}

}  // namespace

void find_memory_and_capture(FindingList& list) {
  find_memory(list);
  find_shared_device(list);
  find_short_capture(list);
}

}  // namespace stepscope
