// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/kernels.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/ascii.h"
#include "stepscope/base/key_index.h"

namespace stepscope {
namespace {

// A name has several rows if its launches give it several classes.
struct KernelKey {
  StringId name;
  NameClass kind;
  bool operator==(const KernelKey&) const = default;
};
struct KernelKeyHash {
  std::size_t operator()(const KernelKey& k) const {
    return index(k.name) * name_class_count + static_cast<std::size_t>(k.kind);
  }
};

// The sums for one name and class.
struct KernelSums {
  std::uint64_t count = 0;
  std::uint64_t with_flops = 0;
  std::uint64_t with_bytes = 0;
  Ns total{};
  Ns min = Ns::max();
  Ns max{};
  Ns time_with_flops{};
  Ns time_with_bytes{};
  double flops = 0;
  double bytes = 0;
};

void add(const Trace& trace, const OpWork& work, const DeviceWork& device, KernelSums& sums) {
  const Ns dur = trace.slices.dur[index(device.op)];
  ++sums.count;
  sums.total += dur;
  sums.min = std::min(sums.min, dur);
  sums.max = std::max(sums.max, dur);
  const OpCost* cost = device.owner == no_slice ? nullptr : work.cost_of(trace, device.owner);
  if (cost == nullptr) return;
  if (cost->flops && device.flops_share > 0) {
    ++sums.with_flops;
    sums.time_with_flops += dur;
    sums.flops += cost->flops->value * static_cast<double>(device.flops_share);
  }
  if (cost->bytes && device.bytes_share > 0) {
    ++sums.with_bytes;
    sums.time_with_bytes += dur;
    sums.bytes += static_cast<double>(cost->bytes->value) * static_cast<double>(device.bytes_share);
  }
}

KernelRow row_of(StringId name, NameClass kind, const KernelSums& sums, std::string_view text) {
  KernelRow row;
  row.name = name;
  row.kind = kind;
  row.count = sums.count;
  row.total = sums.total;
  row.min = sums.count == 0 ? Ns{} : sums.min;
  row.max = sums.max;
  if (sums.count > 0 && sums.with_flops == sums.count) row.flops = Flops{sums.flops};
  if (sums.time_with_flops > Ns{}) row.rate = Flops{sums.flops} / seconds(sums.time_with_flops);
  if (sums.count > 0 && sums.with_bytes == sums.count) row.bytes = Bytes{std::llround(sums.bytes)};
  if (sums.time_with_bytes > Ns{})
    row.bandwidth = ByteRate{sums.bytes / seconds(sums.time_with_bytes).count()};
  if (kind == NameClass::matmul || kind == NameClass::attention)
    row.tensor_core = uses_tensor_cores(text);
  return row;
}

Ns busy_time(const Trace& trace, const RankIndex& rank, std::span<const Step> steps) {
  Ns busy{};
  for (const DeviceLane& lane : rank.devices) {
    IntervalSweep<1> sweep;
    sweep.reserve(lane.ops.size());
    for (const SliceId op : lane.ops)
      sweep.add(0, trace.slices.start[index(op)], trace.slices.end(op));
    // The busy stretches and the steps are both disjoint and in order.
    std::size_t at = 0;
    sweep.run(lane.start, lane.end, [&](Ns start, Ns end, const IntervalSweep<1>::Open& open) {
      if (open[0] == 0) return;
      while (at < steps.size() && steps[at].end <= start) ++at;
      for (std::size_t i = at; i < steps.size() && steps[i].start < end; ++i) {
        busy += std::min(end, steps[i].end) - std::max(start, steps[i].start);
      }
    });
  }
  return busy;
}

using CounterMeans = std::map<std::pair<StringId, StringId>, std::pair<double, std::uint64_t>>;

// (kernel name, metric) → sum and count. Counters are few: one row per profiled range and metric.
CounterMeans counters_by_name(const Trace& trace) {
  CounterMeans means;
  const Counters& counters = trace.counters;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (counters.slice[i] == no_slice) continue;
    auto& [sum, count] = means[{trace.slices.name[index(counters.slice[i])], counters.metric[i]}];
    sum += counters.value[i];
    ++count;
  }
  return means;
}

void attach_counters(const Trace& trace, std::vector<KernelRow>& rows) {
  const CounterMeans means = counters_by_name(trace);
  if (means.empty()) return;
  std::vector<std::uint32_t> place(trace.strings.size(), no_row);
  for (auto i = static_cast<std::uint32_t>(rows.size()); i-- > 0;) place[index(rows[i].name)] = i;
  for (const auto& [key, mean] : means) {
    std::uint32_t& at = place[index(key.first)];
    if (at == no_row) {
      at = static_cast<std::uint32_t>(rows.size());
      rows.push_back(row_of(key.first, classify_kernel(trace.strings[key.first]), {},
                            trace.strings[key.first]));
    }
    rows[at].counters.push_back(
        {key.second, mean.first / static_cast<double>(mean.second), mean.second});
  }
}

double share_of(Ns part, Ns whole) { return whole > Ns{} ? seconds(part) / seconds(whole) : 0.0; }

std::vector<KernelClassRow> class_rows(const std::vector<KernelRow>& kernels, Ns busy) {
  std::array<KernelClassRow, name_class_count> sums{};
  for (const KernelRow& row : kernels) {
    KernelClassRow& sum = sums[static_cast<std::size_t>(row.kind)];
    sum.kind = row.kind;
    sum.count += row.count;
    sum.total += row.total;
  }
  std::vector<KernelClassRow> rows;
  for (KernelClassRow& sum : sums) {
    sum.share = share_of(sum.total, busy);
    if (sum.count > 0) rows.push_back(sum);
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &KernelClassRow::total);
  return rows;
}

}  // namespace

KernelTable kernel_table(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                         const OpWork& work) {
  KeyIndex<KernelKey, KernelKeyHash> places;
  std::vector<std::pair<KernelKey, KernelSums>> names;
  for (const DeviceWork& device : work.device) {
    if (!step_at(steps, trace.slices.start[index(device.op)])) continue;
    const KernelKey key{trace.slices.name[index(device.op)], trace.slices.kind[index(device.op)]};
    const auto [at, fresh] = places.insert(key);
    if (fresh) names.push_back({key, {}});
    add(trace, work, device, names[at].second);
  }
  KernelTable table;
  table.busy = busy_time(trace, rank, steps);
  for (const auto& [key, sums] : names) {
    table.kernels.push_back(row_of(key.name, key.kind, sums, trace.strings[key.name]));
    table.kernels.back().share = share_of(sums.total, table.busy);
  }
  attach_counters(trace, table.kernels);
  std::ranges::stable_sort(table.kernels, std::ranges::greater{}, &KernelRow::total);
  table.classes = class_rows(table.kernels, table.busy);
  return table;
}

// Names of cuBLAS, cuDNN, CUTLASS, Tensile, Composable Kernel and flash-attention kernels.
// Instruction shapes (s884, s1688, s16816, MI16x16) are tensor cores; SIMT and plain single
// precision kernels are not.

namespace {

constexpr auto on_tensor_cores =
    std::to_array<std::string_view>({"tensorop",      "wmma",       "wgmma",
                                     "gmma",          "884gemm",    "1688gemm",
                                     "16816",         "16832",      "161616",
                                     "s1688",         "h884",       "hmma",
                                     "imma",          "nvjet",      "xmma_gemm",
                                     "xmma_fprop",    "xmma_dgrad", "xmma_wgrad",
                                     "xmma_implicit", "tf32",       "mfma",
                                     "xdl",           "gtcx",       "flash",
                                     "fmha",          "sm90_",      "sm100_",
                                     "tcgen05",       "xmma_new",   "sm80_xmma",
                                     "sm86_xmma",     "sm89_xmma",  "fort_native_sdpa"});
constexpr auto off_tensor_cores = std::to_array<std::string_view>(
    {"simt", "sgemm", "scudnn", "dgemm", "cgemm", "zgemm", "gemv", "gemmsn", "gemmk1",
     "convolve_sgemm", "naive_conv", "fft2d", "depthwise", "magma_"});

// XMMA kernels name their instruction (ffma, dfma, hfma of the CUDA cores) and their formats: of
// operands, of the computation and of the result. With TF32 the computation is tf32f32.
constexpr auto fused_multiply_adds =
    std::to_array<std::string_view>({"_ffma", "_dfma", "_hfma", "_f32f32_f32f32_"});

}  // namespace

std::optional<bool> uses_tensor_cores(std::string_view kernel_name) {
  std::string name(kernel_name);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // Tensile puts the matrix instruction, if any, into the name ("_MI16x16x1_").
  if (name.starts_with("cijk_") || name.starts_with("custom_cijk_"))
    return name.find("_mi") != std::string::npos;
  if (contains_any(name, fused_multiply_adds)) return false;
  // A plain vendor GEMM in single precision, "volta_sgemm_128x64_tn"; tested before a wider rule
  // matches "ampere_sgemm".
  if (contains_any(name, on_tensor_cores)) return true;
  if (contains_any(name, off_tensor_cores)) return false;
  return std::nullopt;
}

}  // namespace stepscope
