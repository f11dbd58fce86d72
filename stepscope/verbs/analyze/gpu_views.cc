// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/gpu_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {

namespace {

Json spread_json(const WeightedMean& w) {
  return {{"mean", real(w.mean())}, {"min", real(w.least())}, {"max", real(w.most())}};
}

Json reasons_json(const GpuState& state) {
  Json out = Json::object();
  for (std::size_t b = 0; b < clock_reason_count; ++b)
    out[std::string(clock_reason_names[b])] = real(state.reasons[b].mean());
  return out;
}

double covered_share(const GpuState& state) {
  return state.span > Ns{0}
             ? static_cast<double>(state.covered.count()) / static_cast<double>(state.span.count())
             : 0;
}

// If readings cover less than half of a span, only the covered share is given.
Json state_json(const GpuState& state) {
  const GpuState empty;
  const GpuState& s = state.tells() ? state : empty;
  return {{"readings", state.readings},
          {"covered", covered_share(state)},
          {"sm_clock_mhz", spread_json(s.sm_clock_mhz)},
          {"memory_clock_mhz", spread_json(s.memory_clock_mhz)},
          {"power_watts", spread_json(s.power_watts)},
          {"temperature_celsius", spread_json(s.temperature_celsius)},
          {"utilization", real(s.utilization.mean())},
          {"sm_active", real(s.sm_active.mean())},
          {"tensor_active", real(s.tensor_active.mean())},
          {"dram_active", real(s.dram_active.mean())},
          {"reasons", reasons_json(s)}};
}

Json log_row(const GpuLogResult& log) {
  Json notes = Json::object();
  for (const auto& [reason, count] : log.notes.counts) notes[reason] = count;
  const auto& zone = log.use.zone;
  return {
      {"path", log.path},
      {"format", text_or_null(log.format)},
      {"gpus", log.gpus},
      {"readings", log.readings},
      {"ranks", log.ranks},
      {"zone_ns", value(zone)},
      {"zone_source", zone ? Json(name_of(zone_source_names, log.use.zone_source)) : Json(nullptr)},
      {"notes", std::move(notes)},
      {"problem", text_or_null(say(log.use.problem))}};
}

Json rank_row(std::span<const RankResult> ranks, const GpuOfRank& gpu) {
  Json steps = Json::array();
  if (const RankResult* r = find_rank(ranks, gpu.rank))
    for (std::size_t s = 0; s < r->steps.size() && s < gpu.steps.size(); ++s) {
      Json row = state_json(gpu.steps[s]);
      row["index"] = r->steps[s].index;
      steps.push_back(std::move(row));
    }
  return {{"rank", gpu.rank},
          {"log", gpu.log},
          {"gpu", value(gpu.gpu.index)},
          {"uuid", text_or_null(gpu.gpu.uuid)},
          {"matched_by", name_of(gpu_match_rule_names, gpu.rule)},
          {"max_sm_clock_mhz", real(gpu.gpu.max_sm_clock_mhz)},
          {"power_limit_watts", real(gpu.gpu.power_limit_watts)},
          {"whole", state_json(gpu.whole)},
          {"steps", std::move(steps)}};
}

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

Json gpu_readings_json(const std::optional<GpuEvidence>& gpus, std::span<const RankResult> ranks) {
  if (!gpus) return nullptr;
  Json logs = Json::array();
  for (const GpuLogResult& log : gpus->logs) logs.push_back(log_row(log));
  Json rows = Json::array();
  for (const GpuOfRank& gpu : gpus->ranks) rows.push_back(rank_row(ranks, gpu));
  return {{"logs", std::move(logs)}, {"ranks", std::move(rows)}};
}

Json clock_json(const std::optional<ClockCause>& cause) {
  if (!cause) return nullptr;
  Json reasons = Json::array();
  for (const ActiveReason& r : cause->reasons)
    reasons.push_back({{"reason", name_of(clock_reason_names, r.reason)},
                       {"share", r.share},
                       {"peers_share", real(r.peers_share)}});
  return {{"verdict", name_of(clock_verdict_names, cause->verdict)},
          {"sm_clock_mhz", cause->clock_mhz},
          {"peers_sm_clock_mhz", cause->peers_mhz},
          {"peers", cause->peers},
          {"reasons", std::move(reasons)},
          {"power_watts", real(cause->power_watts)},
          {"peers_power_watts", real(cause->peers_power_watts)},
          {"temperature_celsius", real(cause->temperature_celsius)},
          {"peers_temperature_celsius", real(cause->peers_temperature_celsius)},
          {"sentence", say_stopped(cause->sentence)}};
}

Json counters_json(const Analysis& report) {
  Json ranks = Json::array();
  std::array<bool, counter_switches.size()> there{};
  for (const RankResult& r : report.job.ranks) {
    Json kernels = Json::array();
    for (const KernelRow& k : r.work.kernels.kernels) {
      const KernelFigures f = kernel_figures(*r.strings, k);
      if (!f.any()) continue;
      kernels.push_back(kernel_json(r, k, f));
      for (std::size_t s = 0; s < there.size(); ++s)
        there[s] = there[s] || counter_switches[s].has(f);
    }
    Json steps = Json::array();
    if (r.work.samples) {
      for (std::size_t s = 0; s < r.steps.size(); ++s) {
        Json row = sampled_json(report, r.work.samples->steps[s]);
        row["index"] = r.steps[s].index;
        steps.push_back(std::move(row));
      }
      for (std::size_t s = 0; s < there.size(); ++s)
        there[s] = there[s] || counter_switches[s].sampled(r.work.samples->whole);
    }
    if (kernels.empty() && !r.work.samples) continue;
    ranks.push_back(
        {{"rank", r.rank},
         {"whole", r.work.samples ? sampled_json(report, r.work.samples->whole) : Json(nullptr)},
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

namespace {

constexpr std::size_t most_gpu_rows = 16;
constexpr double least_reason = 0.005;  // of the time, to be listed

std::string number_or_dash(std::optional<double> value, int places = 0) {
  return value ? fmt::format("{:.{}f}", *value, places) : "-";
}
std::string ghz_or_dash(std::optional<double> mhz) {
  return mhz ? fmt::format("{:.2f}", *mhz / 1000) : "-";
}

// The hardware's slowdown says nothing more if the active one of its two causes is listed.
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

// The GPUs with the lowest clocks, in rank order.
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

std::string sampled_text(std::span<const RankResult> ranks, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  std::size_t all = 0;
  for (const RankResult& r : ranks) {
    if (!r.work.samples || ++all > most_counter_rows) continue;
    const SampledFigures& f = r.work.samples->whole;
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

std::string profiled_text(std::span<const RankResult> ranks, std::size_t width) {
  for (const RankResult& r : ranks) {
    std::vector<std::vector<std::string>> rows;
    std::size_t all = 0;
    for (const KernelRow& k : r.work.kernels.kernels) {
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

std::string gpu_readings_text(const std::optional<GpuEvidence>& gpus, std::size_t width) {
  if (!gpus) return {};
  const auto listed = listed_gpus(*gpus);
  if (listed.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const GpuOfRank* gpu : listed) {
    const GpuState& s = gpu->whole;
    const auto in_use = s.utilization.mean();
    rows.push_back({std::to_string(gpu->rank), in_use ? format_percent(*in_use) : "-",
                    ghz_or_dash(s.sm_clock_mhz.mean()), ghz_or_dash(s.sm_clock_mhz.least()),
                    ghz_or_dash(gpu->gpu.max_sm_clock_mhz), number_or_dash(s.power_watts.mean()),
                    number_or_dash(gpu->gpu.power_limit_watts),
                    number_or_dash(s.temperature_celsius.mean()), std::to_string(s.readings),
                    reasons_text(s)});
  }
  return wrapped(fmt::format("GPUs in the steps (GHz, W, °C{}{})",
                             listed.size() < gpus->ranks.size()
                                 ? fmt::format("; the {} of {} ranks with the lowest clocks",
                                               listed.size(), gpus->ranks.size())
                                 : "",
                             zones_text(*gpus)),
                 width) +
         text_table({{.title = "rank"},
                     {.title = "in use"},
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

std::string counters_text(std::span<const RankResult> ranks, std::size_t width) {
  return sampled_text(ranks, width) + profiled_text(ranks, width);
}

}  // namespace stepscope
