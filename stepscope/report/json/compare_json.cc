// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/compare_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stepscope/report/json/json_values.h"
#include "stepscope/report/sentences/compare_sentence.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

Json range(const std::optional<std::pair<double, double>>& interval) {
  return interval ? Json::array({interval->first, interval->second}) : Json(nullptr);
}

Json part_tree(const PartDifference& part) {
  return {{"kind", name_of(part_kind_names, part.kind)},
          {"name", part.name},
          {"a_ns", part.test.a},
          {"b_ns", part.test.b},
          {"difference_ns", part.test.difference},
          {"interval_ns", range(part.test.interval)},
          {"p", real(part.test.p)},
          {"q", real(part.q)},
          {"called", part.called}};
}

Json drift_tree(const std::optional<LaunchDrift>& drift) {
  if (!drift) return nullptr;
  return {
      {"per_launch", std::expm1(drift->slope)}, {"p", drift->p}, {"bias", std::expm1(drift->bias)}};
}

// The times in ascending order; of more than 1,000 those at evenly spaced places, both ends among
// them.
Json times_of_launch(const ComparedLaunch& launch) {
  constexpr std::size_t most = 1000;
  const std::vector<double>& all = launch.sorted_ns;
  const std::size_t shown = std::min(all.size(), most);
  Json times = Json::array();
  for (std::size_t i = 0; i < shown; ++i)
    times.push_back(std::llround(all[shown < 2 ? 0 : i * (all.size() - 1) / (shown - 1)]));
  return times;
}

Json changes_of_launch(const ComparedLaunch& launch) {
  Json changes = Json::array();
  for (const ChangePoint& c : launch.changes)
    changes.push_back({{"step", c.at}, {"before_ns", c.before}, {"after_ns", c.after}});
  return changes;
}

}  // namespace

Json arm_tree(const std::string& label, const ComparedArm& arm) {
  Json launches = Json::array();
  for (const ComparedLaunch& l : arm.launches)
    launches.push_back({{"name", l.name},
                        {"source", l.source},
                        {"steps", l.steps},
                        {"warm_up", l.warm_up},
                        {"unsettled", l.unsettled},
                        {"changes", changes_of_launch(l)},
                        {"median_ns", l.median_ns},
                        {"mean_ns", l.mean_ns},
                        {"sorted_ns", times_of_launch(l)}});
  Json outliers = Json::array();
  for (const OutlierGroup& g : arm.outliers)
    outliers.push_back({{"cause", g.cause},
                        {"count", g.count},
                        {"median_ns", g.median_ns},
                        {"extra_ns", g.extra_ns},
                        {"every", g.every ? Json(*g.every) : Json(nullptr)}});
  return {{"label", label},
          {"steps", arm.steps},
          {"median_ns", arm.median_ns},
          {"mean_ns", arm.mean_ns},
          {"stdev_ns", real(arm.stdev_ns)},
          {"p95_ns", arm.p95_ns},
          {"n_eff", arm.n_eff},
          {"correlation_time", arm.correlation_time},
          {"launches", std::move(launches)},
          {"outliers", std::move(outliers)}};
}

Json compare_tree(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  const auto regression = r.regression;
  Json parts = Json::array();
  for (const PartDifference& part : r.runs.parts) parts.push_back(part_tree(part));
  return {{"schema", "stepscope.compare/1"},
          {"version", r.version},
          {"answer", {{"sentence", say_stopped(compare_sentence(r))}}},
          {"a", arm_tree(r.label_a, r.runs.a)},
          {"b", arm_tree(r.label_b, r.runs.b)},
          {"ratio", t.ratio},
          {"interval", range(t.interval)},
          {"difference_ns", t.b.median - t.a.median},
          {"verdict", name_of(t.verdict)},
          {"n_eff_a", r.runs.a.n_eff},
          {"n_eff_b", r.runs.b.n_eff},
          {"p", real(t.p)},
          {"p_steps", real(t.p_steps)},
          {"p_launches", real(t.p_launches)},
          {"p_separated", real(t.p_separated)},
          {"p_needed", t.p_needed},
          {"alpha", r.options.ratio.alpha},
          {"floor", r.options.ratio.floor},
          {"max_regression", real(r.max_regression)},
          {"regression", regression ? Json(*regression) : Json(nullptr)},
          {"order", text_or_null(r.order)},
          {"drift", drift_tree(r.runs.drift)},
          {"parts", std::move(parts)},
          {"terms", terms_json({"budget", "kernel_class"})},
          {"warnings", say_all(r.warnings)}};
}

Json sweep_tree(const SweepResult& r) {
  Json values = Json::array();
  for (std::size_t i = 0; i < r.sweep.values.size(); ++i) {
    const SweptValue& v = r.sweep.values[i];
    Json row = {{"value", v.value}};
    Json arm = arm_tree(fmt::format("{}={}", r.name, v.value), v.arm);
    row.update(arm);
    const auto& t = v.beside_best;
    row["ratio"] = t ? t->ratio : 1;
    row["interval"] =
        t && t->interval ? Json::array({t->interval->first, t->interval->second}) : Json(nullptr);
    row["p"] = t ? real(t->p) : Json(nullptr);
    row["q"] = real(v.q);
    row["tie"] = v.tie;
    row["best"] = i == r.sweep.best;
    values.push_back(std::move(row));
  }
  return {{"schema", "stepscope.sweep/1"},
          {"version", r.version},
          {"answer", {{"sentence", say_stopped(sweep_sentence(r))}}},
          {"name", r.name},
          {"best", r.sweep.values[r.sweep.best].value},
          {"ties", ties_of(r.sweep)},
          {"enough_data", r.sweep.enough_data},
          {"values", std::move(values)},
          {"order", r.order},
          {"warnings", say_all(r.warnings)}};
}

}  // namespace stepscope
