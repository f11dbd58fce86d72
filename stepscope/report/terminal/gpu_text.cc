// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/gpu_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stepscope/report/sentences/names.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

constexpr std::size_t most_gpu_rows = 16;
constexpr double least_reason = 0.005;  // of the time, to be listed

std::string number_or_dash(std::optional<double> value, int places = 0) {
  return value ? fmt::format("{:.{}f}", *value, places) : "-";
}
std::string ghz_or_dash(std::optional<double> mhz) {
  return mhz ? fmt::format("{:.2f}", *mhz / 1000) : "-";
}

// The hardware's slowdown beside the one of its two causes that is active says nothing more.
bool repeats_its_cause(std::size_t reason, const GpuState& state) {
  const auto share = [&](ClockReason r) {
    return state.reasons[static_cast<std::size_t>(r)].mean().value_or(0);
  };
  return static_cast<ClockReason>(reason) == ClockReason::hw_slowdown &&
         share(ClockReason::hw_thermal_slowdown) + share(ClockReason::hw_power_brake) >=
             least_reason;
}

std::string reasons_text(const GpuState& state) {
  std::vector<std::pair<double, std::string>> listed;
  bool known = false;
  for (std::size_t b = 0; b < clock_reason_count; ++b) {
    const auto share = state.reasons[b].mean();
    known = known || share.has_value();
    if (share.value_or(0) >= least_reason && !repeats_its_cause(b, state))
      listed.emplace_back(*share, spaced(std::string(clock_reason_names[b])));
  }
  std::ranges::stable_sort(listed, std::ranges::greater{}, &std::pair<double, std::string>::first);
  std::string text;
  for (const auto& [share, name] : listed)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, format_percent(share));
  return text.empty() ? (known ? "none" : "-") : text;
}

// Those with the lowest clocks, in rank order.
std::vector<const GpuOfRank*> listed_gpus(const GpuEvidence& gpus) {
  std::vector<const GpuOfRank*> listed;
  for (const GpuOfRank& gpu : gpus.ranks)
    if (gpu.whole.tells()) listed.push_back(&gpu);
  if (listed.size() <= most_gpu_rows) return listed;
  std::ranges::stable_sort(
      listed, {}, [](const GpuOfRank* g) { return g->whole.sm_clock_mhz.mean().value_or(1e9); });
  listed.resize(most_gpu_rows);
  std::ranges::sort(listed, {}, &GpuOfRank::rank);
  return listed;
}

std::string zones_text(const GpuEvidence& gpus) {
  for (const GpuLogResult& log : gpus.logs)
    if (!log.ranks.empty() && log.use.zone && log.use.zone_source == ZoneSource::only_one)
      return fmt::format("; times of {} taken as {}, the only zone that fits",
                         printable(log.path.substr(log.path.rfind('/') + 1)),
                         zone_in_words(*log.use.zone));
  return {};
}

constexpr std::size_t most_counter_rows = 8;

std::string share_or_dash(std::optional<double> share) {
  return share ? format_percent(*share) : "-";
}
std::string rate_or_dash(std::optional<ByteRate> rate) {
  return rate ? format_digits(rate->value / giga) : "-";
}

std::string sampled_text(const JobResult& job, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  std::size_t all = 0;
  for (const RankResult& r : job.ranks) {
    if (!r.samples || ++all > most_counter_rows) continue;
    const SampledFigures& f = r.samples->whole;
    rows.push_back({std::to_string(r.rank), share_or_dash(f.tensor_active),
                    share_or_dash(f.sm_active), share_or_dash(f.dram_read_share),
                    share_or_dash(f.dram_write_share),
                    f.sm_clock_mhz ? fmt::format("{:.2f}", *f.sm_clock_mhz / 1000) : "-",
                    std::to_string(f.samples)});
  }
  if (rows.empty()) return {};
  return "Sampled counters in the steps (% of the peak, GHz)\n" +
         text_table({{.title = "rank"},
                     {.title = "tensor cores"},
                     {.title = "SMs active"},
                     {.title = "DRAM read"},
                     {.title = "DRAM write"},
                     {.title = "clock"},
                     {.title = "samples"}},
                    std::move(rows), width) +
         (all > most_counter_rows ? fmt::format("  … and {} more\n", all - most_counter_rows) : "");
}

std::string profiled_text(const JobResult& job, std::size_t width) {
  for (const RankResult& r : job.ranks) {
    std::vector<std::vector<std::string>> rows;
    std::size_t all = 0;
    for (const KernelRow& k : r.kernels.kernels) {
      const KernelFigures f = kernel_figures(*r.strings, k);
      if (!f.any() || ++all > most_counter_rows) continue;
      rows.push_back({printable(short_kernel_name((*r.strings)[k.name])),
                      share_or_dash(f.tensor_active), share_or_dash(f.dram_share),
                      rate_or_dash(f.dram_read_rate), rate_or_dash(f.dram_write_rate),
                      share_or_dash(f.l2_hit_rate), f.fp32 ? format_count(f.fp32->value) : "-"});
    }
    if (rows.empty()) continue;
    return fmt::format("Profiled kernels of rank {} (means over runs; rates in GB/s)\n", r.rank) +
           text_table({{.title = "kernel", .right = false, .longest = 44},
                       {.title = "tensor cores"},
                       {.title = "DRAM"},
                       {.title = "read"},
                       {.title = "write"},
                       {.title = "L2 hits"},
                       {.title = "fp32 FLOPs"}},
                      std::move(rows), width) +
           (all > most_counter_rows ? fmt::format("  … and {} more\n", all - most_counter_rows)
                                    : "");
  }
  return {};
}

}  // namespace

std::string gpu_readings_text(const JobResult& job, std::size_t width) {
  if (!job.gpus) return {};
  const auto listed = listed_gpus(*job.gpus);
  if (listed.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const GpuOfRank* gpu : listed) {
    const GpuState& s = gpu->whole;
    rows.push_back({std::to_string(gpu->rank), ghz_or_dash(s.sm_clock_mhz.mean()),
                    ghz_or_dash(s.sm_clock_mhz.least()), ghz_or_dash(gpu->gpu.max_sm_clock_mhz),
                    number_or_dash(s.power_watts.mean()),
                    number_or_dash(gpu->gpu.power_limit_watts),
                    number_or_dash(s.temperature_celsius.mean()), std::to_string(s.readings),
                    reasons_text(s)});
  }
  return wrapped(fmt::format("GPUs in the steps (GHz, W, °C{}{})",
                             listed.size() < job.gpus->ranks.size()
                                 ? fmt::format("; the {} of {} ranks with the lowest clocks",
                                               listed.size(), job.gpus->ranks.size())
                                 : "",
                             zones_text(*job.gpus)),
                 width) +
         text_table({{.title = "rank"},
                     {.title = "SM clock"},
                     {.title = "least"},
                     {.title = "max"},
                     {.title = "power"},
                     {.title = "limit"},
                     {.title = "temp"},
                     {.title = "readings"},
                     {.title = "what limits the clock", .right = false, .longest = 60}},
                    std::move(rows), width);
}

std::string counters_text(const JobResult& job, std::size_t width) {
  return sampled_text(job, width) + profiled_text(job, width);
}

}  // namespace stepscope
