// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/stage_balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

constexpr double same_count = 1.02;  // of calls a step

// Lower median of some values.
double middle_of(std::vector<double> values) {
  const auto place = values.begin() + (std::ssize(values) - 1) / 2;
  std::ranges::nth_element(values, place);
  return *place;
}

// The value below which half of the weight lies.
double weighted_median(std::vector<std::pair<double, double>> value_and_weight) {
  std::ranges::sort(value_and_weight);
  double half = 0;
  for (const auto& [value, weight] : value_and_weight) half += weight / 2;
  for (const auto& [value, weight] : value_and_weight) {
    half -= weight;
    if (half <= 0) return value;
  }
  return 1;
}

// Calls of one name by stage come in whole layers: whether other whole numbers of layers would give
// the busiest stage fewer.
bool fewer_possible(std::span<const double> counts) {
  std::int64_t layer = 0;
  std::int64_t sum = 0;
  std::int64_t most = 0;
  for (const double count : counts) {
    const std::int64_t calls = std::llround(count);
    layer = std::gcd(layer, calls);
    sum += calls;
    most = std::max(most, calls);
  }
  if (layer == 0) return false;
  const std::int64_t layers = sum / layer;
  const auto stages = std::ssize(counts);
  return most / layer > (layers + stages - 1) / stages;
}

}  // namespace

std::map<std::string_view, StageRatio> stage_ratios(const WhatIfInputs& in, bool even) {
  struct OfName {
    std::map<std::string_view, std::map<std::uint32_t, std::pair<double, double>>> by_view;
  };
  const StepGraph& graph = *in.replay.graph;
  std::map<std::string_view, OfName> names;
  std::set<std::string_view> stages;
  for (const std::string& role : in.roles) stages.insert(stage_of(role));
  if (stages.size() < 2) return {};
  for (const std::uint32_t n : in.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)]) {
    if (graph.slice[n] == no_slice) continue;
    const std::uint32_t v = graph.view[n];
    const Trace& trace = *in.views[v].trace;
    const std::string_view name = trace.strings[trace.slices.name[index(graph.slice[n])]];
    auto& [time, count] = names[name].by_view[stage_of(in.roles[v])][v];
    time += static_cast<double>(in.replay.measured.duration[n].count());
    ++count;
  }
  std::map<std::string_view, std::vector<std::pair<double, double>>> ratios;  // of a stage
  double time_alike = 0;  // of names that all stages run equally often
  double time_moved = 0;
  double time_movable = 0;
  double time_fixed = 0;
  for (const auto& [name, of_name] : names) {
    if (of_name.by_view.size() != stages.size()) continue;
    std::vector<double> times;
    std::vector<double> counts;
    for (const auto& [stage, views] : of_name.by_view) {
      std::vector<double> time;
      std::vector<double> count;
      for (const auto& [v, sum] : views) {
        const auto steps = static_cast<double>(std::max<std::size_t>(1, in.views[v].steps.size()));
        time.push_back(sum.first / steps);
        count.push_back(sum.second / steps);
      }
      times.push_back(middle_of(std::move(time)));
      counts.push_back(middle_of(std::move(count)));
    }
    const auto [fewest, most] = std::ranges::minmax(counts);
    const double mean =
        std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    const bool same = !even && most <= fewest * same_count;
    const double reference = same ? middle_of(times) : mean;
    if (reference <= 0) continue;
    (same ? time_alike : time_moved) += mean;
    (same || fewer_possible(counts) ? time_movable : time_fixed) += mean;
    std::size_t i = 0;
    for (const auto& [stage, views] : of_name.by_view) {
      ratios[stage].emplace_back(times[i] / reference, mean);
      ++i;
    }
  }
  std::map<std::string_view, StageRatio> of_stage;
  for (auto& [stage, list] : ratios)
    of_stage[stage] = {weighted_median(std::move(list)), time_moved > time_alike,
                       time_movable > time_fixed};
  return of_stage;
}

}  // namespace stepscope
