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
#include "stepscope/analysis/work/device_memory.h"
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

// One name and class.
struct KernelSums {
  KernelRow row;
  KnownWork known{};
};

void add(const Trace& trace, const OpWork& work, const DeviceWork& device, KernelSums& sums) {
  const Ns dur = trace.slices.dur[index(device.op)];
  KernelRow& row = sums.row;
  row.min = row.count == 0 ? dur : std::min(row.min, dur);
  row.max = std::max(row.max, dur);
  row.total += dur;
  ++row.count;
  if (crosses_host(trace, device.op)) {
    if (const auto bytes = copied_bytes(trace, device.op)) sums.known.add_bytes(*bytes, 1, dur);
    return;
  }
  const OpCost* cost = device.owner == no_slice ? nullptr : work.cost_of(trace, device.owner);
  if (cost == nullptr) return;
  if (cost->flops && device.flops_share > 0)
    sums.known.add_flops(*cost->flops, double{device.flops_share}, dur);
  if (cost->bytes && device.bytes_share > 0)
    sums.known.add_bytes(*cost->bytes, double{device.bytes_share}, dur);
}

KernelRow row_of(const Trace& trace, const KernelKey& key) {
  KernelRow row{.name = key.name, .kind = key.kind};
  if (key.kind == NameClass::matmul || key.kind == NameClass::attention)
    row.tensor_core = uses_tensor_cores(trace.strings[key.name]);
  return row;
}

Ns busy_time(const Trace& trace, const RankIndex& rank, std::span<const Step> steps) {
  Ns busy{};
  for (const DeviceLane& lane : rank.devices) {
    IntervalSweep<1> sweep;
    sweep.reserve(lane.ops.size());
    for (const SliceId op : lane.ops)
      sweep.add(0, trace.slices.start[index(op)], trace.slices.end(op));
    StepCursor cursor(steps);
    sweep.run(lane.start, lane.end, [&](Ns start, Ns end, const IntervalSweep<1>::Open& open) {
      if (open[0] > 0)
        cursor.place(start, end, [&](std::size_t, Ns from, Ns to) { busy += to - from; });
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
      rows.push_back(row_of(trace, {key.first, classify_kernel(trace.strings[key.first])}));
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
  std::vector<KernelSums> names;
  for (const DeviceWork& device : work.device) {
    if (!step_at(steps, trace.slices.start[index(device.op)])) continue;
    const KernelKey key{trace.slices.name[index(device.op)], trace.slices.kind[index(device.op)]};
    const auto [at, fresh] = places.insert(key);
    if (fresh) names.push_back({row_of(trace, key)});
    add(trace, work, device, names[at]);
  }
  KernelTable table;
  table.busy = busy_time(trace, rank, steps);
  for (auto& [row, known] : names) {
    known.give(row.count, row);
    row.share = share_of(row.total, table.busy);
    table.kernels.push_back(std::move(row));
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
  if (name.starts_with("cijk_") || name.starts_with("custom_cijk_")) {
    if (contains(name, "_mi")) return true;
    return contains(name, "_mt") ? std::optional(false) : std::nullopt;  // a whole name has tiles
  }
  if (contains_any(name, fused_multiply_adds)) return false;
  // A plain vendor GEMM in single precision, "volta_sgemm_128x64_tn"; tested before a wider rule
  // matches "ampere_sgemm".
  if (contains_any(name, on_tensor_cores)) return true;
  if (contains_any(name, off_tensor_cores)) return false;
  return std::nullopt;
}

}  // namespace stepscope
