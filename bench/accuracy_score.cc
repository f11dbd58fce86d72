// SPDX-License-Identifier: Apache-2.0
#include "accuracy_score.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/stats/summary.h"
#include "training_model.h"

namespace stepscope::bench {
namespace {

// Ranks from 0; equal values get their mean rank.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) rank[order[j]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return rank;
}

// Absent if one side is constant.
std::optional<double> correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = mean(a).value_or(0);
  const double mean_b = mean(b).value_or(0);
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (aa <= 0 || bb <= 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

double step_flops(const TrainingRow& row) {
  const std::int64_t sequence = row.plan.batch.sequence;
  const std::int64_t tokens = row.plan.batch.global * sequence;
  const double flops =
      model_flops(row.model, tokens, sequence, FlopsConvention::causal_halved).per_step.value;
  return row.plan.memory.recompute == Recompute::full ? flops * 4 / 3 : flops;
}

// GPU model: without its memory's size.
std::string gpu_model(const TrainingRows& data, const TrainingRow& row) {
  const std::string& name = data.systems[row.system].machine.name;
  return name.substr(0, name.find_first_of("- "));
}

// A source with many rows counts no more than one with few.
double median_of_medians(const std::map<std::string, std::vector<double>>& sources) {
  std::vector<double> medians;
  for (const auto& [source, values] : sources) medians.push_back(*median(values));
  return median(medians).value_or(0);
}

void add_groups(const TrainingRows& data, const std::vector<std::size_t>& rows,
                const std::vector<double>& predicted, Score& s) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (const std::size_t i : rows) groups[data.rows[i].group].push_back(i);
  std::vector<double> rank;
  std::vector<double> regret;
  for (const auto& [name, members] : groups) {
    // A plan with several measurements counts with their mean.
    std::map<std::string, std::vector<std::size_t>> plans;
    for (const std::size_t i : members) plans[plan_json(data.rows[i].plan)].push_back(i);
    if (plans.size() < 2) continue;
    std::vector<double> p;
    std::vector<double> m;
    for (const auto& [plan, runs] : plans) {
      p.push_back(predicted[runs.front()]);
      double sum = 0;
      for (const std::size_t i : runs) sum += data.rows[i].step;
      m.push_back(sum / static_cast<double>(runs.size()));
    }
    const auto pick = static_cast<std::size_t>(std::ranges::min_element(p) - p.begin());
    regret.push_back(m[pick] / *std::ranges::min_element(m) - 1);
    if (plans.size() < 3) continue;
    if (const auto r = correlation(ranks(p), ranks(m))) rank.push_back(*r);
  }
  s.rank = mean(rank);
  s.regret = mean(regret);
  if (!regret.empty()) s.worst_regret = std::ranges::max(regret);
}

}  // namespace

Score score(const TrainingRows& data, const std::vector<std::size_t>& which,
            const std::vector<double>& predicted) {
  Score s;
  std::vector<std::size_t> rows;
  std::vector<double> absolute;
  for (const std::size_t i : which) {
    if (predicted[i] <= 0) continue;
    rows.push_back(i);
    const double error = predicted[i] / data.rows[i].step - 1;
    absolute.push_back(std::abs(error));
    s.bias += error;
    if (std::abs(error) > std::abs(s.worst)) s.worst = error;
  }
  s.count = rows.size();
  if (rows.empty()) return s;
  s.bias /= static_cast<double>(rows.size());
  s.mape = *mean(absolute);
  s.median = *median(absolute);
  add_groups(data, rows, predicted, s);
  return s;
}

std::vector<Part> parts_of(const TrainingRows& data) {
  std::map<std::string, std::set<bool>> spans;
  for (const TrainingRow& row : data.rows) spans[row.source].insert(row.several_nodes);
  std::map<std::string, Part> parts;
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    const TrainingRow& row = data.rows[i];
    std::string name = row.source;
    if (!row.tuned) name += ", not tuned";
    if (spans[row.source].size() > 1) name += row.several_nodes ? ", several nodes" : ", one node";
    Part& part = parts[name];
    part.name = name;
    part.source = row.source;
    part.rows.push_back(i);
  }
  std::vector<Part> list;
  for (auto& [name, part] : parts) list.push_back(std::move(part));
  return list;
}

std::vector<double> constant_hfu(const TrainingRows& data) {
  struct Known {
    std::string source;
    std::string gpu;
    double share;
  };
  std::vector<Known> known;
  std::vector<double> ideal;  // seconds at the peak
  for (const TrainingRow& row : data.rows) {
    const Machine& machine = data.systems[row.system].machine;
    const double peak_rate = peak(machine, row.plan.precision.matmul)->value;
    ideal.push_back(step_flops(row) / (peak_rate * static_cast<double>(row.plan.devices)));
    known.push_back({row.source, gpu_model(data, row), ideal.back() / row.step});
  }
  std::map<std::string, double> share;  // by requested source and GPU
  std::vector<double> steps(data.rows.size());
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    const std::string key = known[i].source + '|' + known[i].gpu;
    const auto at = share.find(key);
    if (at == share.end()) {
      std::map<std::string, std::vector<double>> same;
      std::map<std::string, std::vector<double>> any;
      for (const Known& k : known) {
        if (k.source == known[i].source) continue;
        any[k.source].push_back(k.share);
        if (k.gpu == known[i].gpu) same[k.source].push_back(k.share);
      }
      share[key] = median_of_medians(same.empty() ? any : same);
    }
    if (share[key] > 0) steps[i] = ideal[i] / share[key];
  }
  return steps;
}

}  // namespace stepscope::bench
