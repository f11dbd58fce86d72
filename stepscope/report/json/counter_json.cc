// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/counter_json.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

// What of a share of the DRAM's peak rate that is a second; null without a machine.
Json rate_of_share(const Analysis& report, std::optional<double> share) {
  if (!share || !report.machine || !report.machine->memory_rate) return nullptr;
  return *share * report.machine->memory_rate->value / giga;
}

Json sampled_json(const Analysis& report, const SampledFigures& f) {
  return {{"samples", f.samples},
          {"tensor_active", real(f.tensor_active)},
          {"sm_active", real(f.sm_active)},
          {"dram_read_share", real(f.dram_read_share)},
          {"dram_write_share", real(f.dram_write_share)},
          {"dram_read_gb_per_s", rate_of_share(report, f.dram_read_share)},
          {"dram_write_gb_per_s", rate_of_share(report, f.dram_write_share)},
          {"sm_clock_mhz", real(f.sm_clock_mhz)}};
}

KernelFigures figures_of_kernel(const RankResult& r, const KernelRow& k) {
  return kernel_figures(*r.strings, k.counters,
                        k.count > 0 ? std::optional(k.mean()) : std::nullopt);
}

Json kernel_json(const RankResult& r, const KernelRow& k, const KernelFigures& f) {
  return {{"name", std::string((*r.strings)[k.name])},
          {"profiled", k.counters.front().count},
          {"tensor_active", real(f.tensor_active)},
          {"tensor_instructions", real(f.tensor_instructions)},
          {"sm_share", real(f.sm_share)},
          {"dram_share", real(f.dram_share)},
          {"dram_read_bytes", value(f.dram_read)},
          {"dram_write_bytes", value(f.dram_write)},
          {"dram_read_gb_per_s", gb_per_s(f.dram_read_rate)},
          {"dram_write_gb_per_s", gb_per_s(f.dram_write_rate)},
          {"l2_hit_rate", real(f.l2_hit_rate)},
          {"l1_hit_rate", real(f.l1_hit_rate)},
          {"fp32_flops", value(f.fp32)},
          {"fp64_flops", value(f.fp64)}};
}

struct CounterSwitch {
  const char* figure;
  const char* record;  // what records it
  bool (*has)(const KernelFigures& kernel);
  bool (*sampled)(const SampledFigures& samples);
};
constexpr std::string_view metrics_flag = "torch.profiler._ExperimentalConfig(profiler_metrics=[\"";
constexpr std::string_view metrics_end = "\"], profiler_measure_per_kernel=True)";
constexpr std::array<CounterSwitch, 5> counter_switches = {{
    {"tensor_active", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
     [](const KernelFigures& k) { return k.tensor_active.has_value(); },
     [](const SampledFigures& s) { return s.tensor_active.has_value(); }},
    {"dram_share", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
     [](const KernelFigures& k) { return k.dram_share.has_value(); },
     [](const SampledFigures& s) { return s.dram_read_share.has_value(); }},
    {"dram_read_bytes", "dram__bytes_read.sum",
     [](const KernelFigures& k) { return k.dram_read.has_value(); },
     [](const SampledFigures&) { return false; }},
    {"dram_write_bytes", "dram__bytes_write.sum",
     [](const KernelFigures& k) { return k.dram_write.has_value(); },
     [](const SampledFigures&) { return false; }},
    {"l2_hit_rate", "lts__t_sector_hit_rate.pct",
     [](const KernelFigures& k) { return k.l2_hit_rate.has_value(); },
     [](const SampledFigures&) { return false; }},
}};

}  // namespace

Json counters_json(const Analysis& report) {
  Json ranks = Json::array();
  std::array<bool, counter_switches.size()> there{};
  for (const RankResult& r : report.job.ranks) {
    Json kernels = Json::array();
    for (const KernelRow& k : r.kernels.kernels) {
      const KernelFigures f = figures_of_kernel(r, k);
      if (!f.any()) continue;
      kernels.push_back(kernel_json(r, k, f));
      for (std::size_t s = 0; s < there.size(); ++s)
        there[s] = there[s] || counter_switches[s].has(f);
    }
    Json steps = Json::array();
    if (r.samples) {
      for (std::size_t s = 0; s < r.steps.size(); ++s) {
        Json row = sampled_json(report, r.samples->steps[s]);
        row["index"] = r.steps[s].index;
        steps.push_back(std::move(row));
      }
      for (std::size_t s = 0; s < there.size(); ++s)
        there[s] = there[s] || counter_switches[s].sampled(r.samples->whole);
    }
    if (kernels.empty() && !r.samples) continue;
    ranks.push_back({{"rank", r.rank},
                     {"whole", r.samples ? sampled_json(report, r.samples->whole) : Json(nullptr)},
                     {"steps", std::move(steps)},
                     {"kernels", std::move(kernels)}});
  }
  Json absent = Json::array();
  for (std::size_t s = 0; s < there.size(); ++s)
    if (!there[s])
      absent.push_back({{"figure", counter_switches[s].figure},
                        {"record", std::string(metrics_flag) + counter_switches[s].record +
                                       std::string(metrics_end)}});
  return {{"ranks", std::move(ranks)}, {"absent", std::move(absent)}};
}

}  // namespace stepscope
