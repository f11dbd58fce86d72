// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/gpu_json.h"

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

// Of a span of which readings stand for less than half, only how much they stand for is told.
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
      {"problem", text_or_null(log.use.problem)}};
}

Json rank_row(const JobResult& job, const GpuOfRank& gpu) {
  Json steps = Json::array();
  for (const RankResult& r : job.ranks)
    if (r.rank == gpu.rank)
      for (std::size_t s = 0; s < r.steps.size() && s < gpu.steps.size(); ++s) {
        Json row = state_json(gpu.steps[s]);
        row["index"] = r.steps[s].index;
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

}  // namespace

Json gpu_readings_json(const JobResult& job) {
  if (!job.gpus) return nullptr;
  Json logs = Json::array();
  for (const GpuLogResult& log : job.gpus->logs) logs.push_back(log_row(log));
  Json ranks = Json::array();
  for (const GpuOfRank& gpu : job.gpus->ranks) ranks.push_back(rank_row(job, gpu));
  return {{"logs", std::move(logs)}, {"ranks", std::move(ranks)}};
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
          {"sentence", cause->sentence}};
}

}  // namespace stepscope
