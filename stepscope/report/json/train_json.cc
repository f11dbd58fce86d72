// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/train_json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/telemetry/stats_json.h"
#include "stepscope/report/json/analyze_json.h"
#include "stepscope/report/json/json_values.h"
#include "stepscope/report/sentences/train_sentence.h"
#include "stepscope/say/say.h"
#include "stepscope/stats/round_to_sum.h"

namespace stepscope {
namespace {

template <std::size_t n>
Json times_by_name(const std::array<Ns, n>& values, const std::array<std::string_view, n>& names) {
  Json json = Json::object();
  for (std::size_t i = 0; i < n; ++i) json[std::string(names[i])] = values[i].count();
  return json;
}

// Mean in whole ns that sum to the mean wall time, rounded.
template <std::size_t n>
std::array<Ns, n> mean_of_rank_steps(std::span<const TrainRankStep* const> steps,
                                     std::array<Ns, n> TrainRankStep::* member) {
  std::vector<double> sum(n, 0);
  for (const TrainRankStep* step : steps)
    for (std::size_t i = 0; i < n; ++i) sum[i] += nanoseconds_of((step->*member)[i]);
  for (double& s : sum) s /= std::max<double>(1, static_cast<double>(steps.size()));
  const std::vector<std::int64_t> whole = round_to_sum(sum);
  std::array<Ns, n> mean{};
  for (std::size_t i = 0; i < n; ++i) mean[i] = Ns{whole[i]};
  return mean;
}

Json budget_and_phases(std::span<const TrainRankStep* const> steps) {
  return {
      {"budget_ns",
       times_by_name(mean_of_rank_steps(steps, &TrainRankStep::budget), budget_category_names)},
      {"phases_ns", times_by_name(mean_of_rank_steps(steps, &TrainRankStep::phases), phase_names)}};
}

// Of each rank, its steps among `steps`.
std::vector<std::vector<const TrainRankStep*>> steps_by_rank(std::span<const TrainStep> steps) {
  std::vector<std::vector<const TrainRankStep*>> ranks;
  for (const TrainStep& step : steps) {
    ranks.resize(std::max(ranks.size(), step.ranks.size()));
    for (std::size_t r = 0; r < step.ranks.size(); ++r) ranks[r].push_back(&step.ranks[r]);
  }
  return ranks;
}

// Means over the counted steps: of all ranks together, and of each.
Json train_means_json(const TrainResult& r) {
  std::vector<const TrainRankStep*> all;
  Json ranks = Json::array();
  for (const auto& steps : steps_by_rank(counted_steps(r))) {
    all.insert(all.end(), steps.begin(), steps.end());
    double wall = 0;
    for (const TrainRankStep* step : steps) wall += nanoseconds_of(step->wall);
    Json row = {{"rank", ranks.size()},
                {"steps", steps.size()},
                {"wall_ns", wall / static_cast<double>(std::max<std::size_t>(1, steps.size()))}};
    row.update(budget_and_phases(steps));
    ranks.push_back(std::move(row));
  }
  Json means = budget_and_phases(all);
  means["ranks"] = std::move(ranks);
  return means;
}

Json train_step_json(const TrainStep& s) {
  std::vector<const TrainRankStep*> ranks;
  for (const TrainRankStep& rank : s.ranks) ranks.push_back(&rank);
  Json row = {{"index", s.index},
              {"loss", s.loss},
              {"validation_loss", real(s.validation_loss)},
              {"gradient_norm", real(s.gradient_norm)},
              {"learning_rate", s.learning_rate},
              {"tokens", s.tokens},
              {"skipped", s.skipped},
              {"wall_ns", s.wall.count()}};
  row.update(budget_and_phases(ranks));
  return row;
}

Json train_rank_steps_json(const TrainResult& r) {
  Json rows = Json::array();
  for (const TrainStep& step : r.steps)
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
      rows.push_back({{"rank", rank},
                      {"index", step.index},
                      {"tokens", step.ranks[rank].tokens},
                      {"wall_ns", step.ranks[rank].wall.count()},
                      {"budget_ns", times_by_name(step.ranks[rank].budget, budget_category_names)},
                      {"phases_ns", times_by_name(step.ranks[rank].phases, phase_names)}});
  return rows;
}

Json train_memory_json(const TrainResult& r) {
  Json rows = Json::array();
  for (const TrainMemory& m : r.memory)
    rows.push_back({{"name", m.name},
                    {"planned_bytes", m.planned.value},
                    {"measured_bytes", m.measured.value}});
  return rows;
}

Json train_collectives_json(const TrainResult& r) {
  Json rows = Json::array();
  for (const TrainCollective& c : r.collectives)
    rows.push_back({{"kind", c.kind},
                    {"group_size", c.group},
                    {"calls", c.calls},
                    {"bytes", c.payload.value},
                    {"sent_bytes", c.sent.value},
                    {"transfer_ns", c.transfer.count()},
                    {"wait_ns", c.wait.count()},
                    {"stall_ns", c.stall.count()}});
  return rows;
}

Json train_setup_json(const TrainSetup& s) {
  return {{"model", s.model},        {"parameters", s.parameters},     {"ranks", s.ranks},
          {"zero", s.zero},          {"precision", s.precision},       {"batch", s.batch},
          {"sequence", s.sequence},  {"accumulation", s.accumulation}, {"recompute", s.recompute},
          {"transport", s.transport}};
}

Json steps_of_verdict(const TrainVerdict& verdict) {
  if (verdict.culprits.empty()) return nullptr;
  return Json::array({verdict.first_step, verdict.last_step});
}

Json isolation_range_json(Ns mean, const TrainIsolation::Range& range) {
  return {
      {"mean_ns", mean.count()}, {"min_ns", range.least.count()}, {"max_ns", range.most.count()}};
}

}  // namespace

Json isolation_tree(const TrainIsolation& isolation) {
  const TrainIsolation::Rank mean = isolation.mean();
  Json ranks = Json::array();
  for (std::size_t r = 0; r < isolation.ranks.size(); ++r) {
    const TrainIsolation::Rank& rank = isolation.ranks[r];
    ranks.push_back({{"rank", r},
                     {"both_ns", rank.both.count()},
                     {"exposed_ns", rank.exposed.count()},
                     {"compute_ns", rank.compute.count()},
                     {"communication_ns", rank.communication.count()},
                     {"hidden_ns", rank.hidden().count()},
                     {"contention_ns", rank.contention().count()}});
  }
  return {{"steps", isolation.steps},
          {"both", isolation_range_json(mean.both, isolation.both)},
          {"exposed", isolation_range_json(mean.exposed, isolation.exposed)},
          {"compute", isolation_range_json(mean.compute, isolation.compute)},
          {"communication", isolation_range_json(mean.communication, isolation.communication)},
          {"hidden_ns", mean.hidden().count()},
          {"contention_ns", mean.contention().count()},
          {"ranks", std::move(ranks)}};
}

Json train_tree(const TrainResult& r) {
  const TrainRates rates = train_rates(r);
  Json steps = Json::array();
  for (const TrainStep& step : r.steps) steps.push_back(train_step_json(step));
  Json offload = Json::array();
  for (const Message& m : r.offload) offload.push_back(say_stopped(m));
  return {{"schema", "stepscope.train/1"},
          {"version", r.version},
          {"answer",
           {{"sentence", say_stopped(train_sentence(r))},
            {"verdict", verdict_json(r.verdict.culprits)},
            {"verdict_steps", steps_of_verdict(r.verdict)},
            {"no_verdict", text_or_null(say(r.verdict.why_none))}}},
          {"setup", train_setup_json(r.setup)},
          {"peak_flops", r.peak ? Json(r.peak->value) : Json(nullptr)},
          {"peak_source", text_or_null(r.peak_source)},
          {"model_flops_per_step", r.model_flops.value},
          {"executed_flops_per_step", r.executed_flops.value},
          {"step_time_ns", rates.step_ns},
          {"tokens_per_second", rates.tokens_per_second},
          {"mfu", real(rates.mfu)},
          {"hfu", real(rates.hfu)},
          {"means", train_means_json(r)},
          {"steps", std::move(steps)},
          {"rank_steps", train_rank_steps_json(r)},
          {"memory", train_memory_json(r)},
          {"collectives", train_collectives_json(r)},
          {"isolation", r.isolation ? isolation_tree(*r.isolation) : Json(nullptr)},
          {"offload", std::move(offload)},
          {"checkpoints", r.checkpoints},
          {"stats", r.stats ? Json::parse(stats_json(*r.stats)) : Json(nullptr)},
          {"terms", terms_json({"budget", "phase"}, true)},
          {"warnings", say_all(r.warnings)}};
}

namespace {

// Steps and rows of ranks that a page holds.
constexpr std::size_t most_page_steps = 1000;
constexpr std::size_t most_page_rows = 20'000;

Json without_zeros(const Json& times) {
  Json kept = Json::object();
  for (const auto& [name, ns] : times.items())
    if (ns != 0) kept[name] = ns;
  return kept;
}

}  // namespace

Json train_page_tree(Json tree) {
  const std::size_t ranks = std::max<std::size_t>(1, tree["means"]["ranks"].size());
  const std::size_t most = std::clamp<std::size_t>(most_page_rows / ranks, 50, most_page_steps);
  const std::size_t all = tree["steps"].size();
  const std::size_t every = std::max<std::size_t>(1, (all + most - 1) / most);
  Json steps = Json::array();
  std::set<std::int64_t> kept;
  for (std::size_t begin = 0; begin < all; begin += every) {
    std::size_t longest = begin;
    for (std::size_t i = begin; i < std::min(all, begin + every); ++i)
      if (tree["steps"][i]["wall_ns"] > tree["steps"][longest]["wall_ns"]) longest = i;
    Json& step = tree["steps"][longest];
    kept.insert(step["index"].get<std::int64_t>());
    step["budget_ns"] = without_zeros(step["budget_ns"]);
    step.erase("phases_ns");
    steps.push_back(std::move(step));
  }
  Json rows = Json::array();
  for (Json& row : tree["rank_steps"]) {
    if (!kept.contains(row["index"].get<std::int64_t>())) continue;
    rows.push_back({{"rank", row["rank"]},
                    {"index", row["index"]},
                    {"wall_ns", row["wall_ns"]},
                    {"budget_ns", without_zeros(row["budget_ns"])}});
  }
  tree["drawn"] = {{"of_steps", all}, {"every", every}};
  tree["steps"] = std::move(steps);
  tree["rank_steps"] = std::move(rows);
  return tree;
}

}  // namespace stepscope
