// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/link_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "stepscope/stats/nonlinear_fit.h"

namespace stepscope {
namespace {

struct FreeParameter {
  bool outer;
  LinkParameter parameter;
};

// A dense sweep adds time but no information: this many per half octave are enough.
constexpr int most_per_cell = 6;
// Parameters that the data do not determine stay near their usual value. An error of factor three
// costs as much as one timing that is wrong by a tenth.
constexpr double prior_weight = 0.01;
// The data determine a parameter if its usual value would cost this much more: about one timing
// wrong by 5 % on top of its scatter.
constexpr double told_cost = 2.5e-3;

struct Weighted {
  std::vector<CollectiveTiming> timings;
  std::vector<double> weights;
};

// The values in the data that can determine a parameter.
struct Span {
  std::set<int> members_alone;   // members of groups in one domain
  std::set<int> members_across;  // of groups over several domains
  std::set<CollectiveKind> kinds_alone;
  std::set<CollectiveKind> kinds_across;
};

Weighted weigh(const Network& network, std::span<const CollectiveTiming> timings) {
  using Cell = std::tuple<CollectiveKind, int, int, std::optional<Algorithm>, long>;
  std::map<Cell, std::vector<const CollectiveTiming*>> cells;
  for (const CollectiveTiming& t : timings) {
    if (t.time.count() <= 0 || !modelled_time(network, t)) continue;
    const long octave =
        std::lround(2 * std::log2(std::max(1.0, static_cast<double>(t.bytes.value))));
    cells[{t.kind, t.group.members, t.group.domains, t.algorithm, octave}].push_back(&t);
  }
  Weighted weighted;
  for (const auto& [cell, rows] : cells) {
    const std::size_t step = (rows.size() + most_per_cell - 1) / most_per_cell;
    const double kept = std::ceil(static_cast<double>(rows.size()) / static_cast<double>(step));
    for (std::size_t i = 0; i < rows.size(); i += step) {
      weighted.timings.push_back(*rows[i]);
      weighted.weights.push_back(1 / kept);
    }
  }
  return weighted;
}

Span span_of(const Weighted& data) {
  Span span;
  for (const CollectiveTiming& t : data.timings) {
    if (t.group.size < 2) continue;
    const bool alone = t.group.domains == 1;
    (alone ? span.members_alone : span.members_across).insert(t.group.members);
    (alone ? span.kinds_alone : span.kinds_across).insert(t.kind);
  }
  return span;
}

// True if the data can separate the parameter from the others; its sensitivity decides the rest.
bool is_told(const Span& span, bool outer, LinkParameter parameter) {
  using enum LinkParameter;
  const bool alone = !span.members_alone.empty();
  const bool across = !span.members_across.empty();
  const bool neighbours = !span.members_across.empty() && *span.members_across.rbegin() > 1;
  switch (parameter) {
    case tree_start_us:
    case tree_efficiency:
    case tree_fill:
      return outer && span.kinds_across.contains(CollectiveKind::all_reduce);
    case tree_hop_ll_us:
    case tree_hop_ll128_us:
    case tree_hop_simple_us:
      return span.kinds_across.contains(CollectiveKind::all_reduce) && (outer || neighbours);
    case pass_all_reduce:
      return alone && span.kinds_alone.contains(CollectiveKind::all_reduce);
    case pass_all_gather:
      return alone && span.kinds_alone.contains(CollectiveKind::all_gather);
    case pass_reduce_scatter:
      return alone && span.kinds_alone.contains(CollectiveKind::reduce_scatter);
    case turn:
      return span.members_across.size() > 1;
    case link_efficiency:  // separable from pass only by groups of different size
      return outer ? across : span.members_alone.size() > 1;
    default:
      return outer ? across : alone || neighbours;
  }
}

std::vector<FreeParameter> free_parameters(const Span& span) {
  std::vector<FreeParameter> free;
  for (const bool outer : {false, true}) {
    for (std::size_t p = 0; p < link_parameter_count; ++p) {
      const LinkParameterInfo& parameter = link_parameters[p];
      if (!(outer ? parameter.out : parameter.up)) continue;
      if (is_told(span, outer, static_cast<LinkParameter>(p))) {
        free.push_back({outer, static_cast<LinkParameter>(p)});
      }
    }
  }
  return free;
}

double& value_of(Network& network, const FreeParameter& f) {
  return (f.outer ? network.out_timing : network.up_timing)[static_cast<std::size_t>(f.parameter)];
}

// The search uses logarithms, so a start of 20 us and a ratio of 0.3 move alike.
void apply(std::span<const FreeParameter> free, std::span<const double> logs, Network& network) {
  for (std::size_t j = 0; j < free.size(); ++j) value_of(network, free[j]) = std::exp(logs[j]);
}

// A reproducible disturbance of parameter j for start s.
double disturbance(int s, std::size_t j) {
  const double x = std::sin(12.9898 * s + 78.233 * static_cast<double>(j + 1)) * 43758.5453;
  return 0.8 * (x - std::floor(x) - 0.5);
}

double log_error(const Network& network, const CollectiveTiming& timing) {
  return std::log(modelled_time(network, timing)->count() / timing.time.count());
}

NonlinearFit search(const Network& network, const Weighted& data,
                    std::span<const FreeParameter> free, int start_index) {
  std::vector<double> start;
  std::vector<double> low;
  std::vector<double> high;
  Network trial = network;
  for (std::size_t j = 0; j < free.size(); ++j) {
    const LinkParameterInfo& parameter = info(free[j].parameter);
    const double moved = start_index == 0 ? 0 : disturbance(start_index, j);
    start.push_back(std::log(value_of(trial, free[j])) + moved);
    low.push_back(std::log(parameter.low));
    high.push_back(std::log(parameter.high));
  }
  const std::size_t rows = data.timings.size();
  std::vector<double> weights = data.weights;
  weights.resize(rows + free.size(), prior_weight);
  std::vector<double> usual;
  for (const FreeParameter& f : free) usual.push_back(std::log(value_of(trial, f)));
  const Residuals residuals = [&](std::span<const double> logs, std::span<double> r) {
    apply(free, logs, trial);
    for (std::size_t i = 0; i < rows; ++i) r[i] = log_error(trial, data.timings[i]);
    for (std::size_t j = 0; j < free.size(); ++j) r[rows + j] = logs[j] - usual[j];
  };
  return fit_nonlinear(residuals, weights, start, low, high);
}

double data_cost(const Network& network, const Weighted& data) {
  double sum = 0;
  for (std::size_t i = 0; i < data.timings.size(); ++i) {
    const double e = log_error(network, data.timings[i]);
    sum += data.weights[i] * 0.02 * (std::sqrt(1 + 100 * e * e) - 1);
  }
  return sum;
}

// Resets parameters to their usual value, one after the other, if it explains the data equally
// well.
void keep_what_is_told(const Network& usual, const Weighted& data,
                       std::span<const FreeParameter> free, LinkFit& fit) {
  Network before = usual;
  double cost = data_cost(fit.network, data);
  for (const FreeParameter& f : free) {
    const double fitted = value_of(fit.network, f);
    value_of(fit.network, f) = value_of(before, f);
    const double without = data_cost(fit.network, data);
    if (without <= cost + told_cost) {
      cost = without;
      continue;
    }
    value_of(fit.network, f) = fitted;
    LinkTiming& timing = f.outer ? fit.out : fit.up;
    timing.values[static_cast<std::size_t>(f.parameter)] = fitted;
  }
}

double mean_error(const Network& network, std::span<const CollectiveTiming> timings) {
  double sum = 0;
  double count = 0;
  for (const CollectiveTiming& t : timings) {
    const auto modelled = modelled_time(network, t);
    if (t.time.count() <= 0 || !modelled) continue;
    sum += std::abs(modelled->count() / t.time.count() - 1);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

std::optional<Seconds> modelled_time(const Network& network, const CollectiveTiming& timing) {
  if (!timing.algorithm) {
    return collective_time(network, timing.kind, timing.bytes, timing.group);
  }
  for (const AlgorithmTime& a :
       collective_algorithms(network, timing.kind, timing.bytes, timing.group)) {
    if (a.algorithm == *timing.algorithm) return a.time;
  }
  return std::nullopt;
}

LinkFit fit_links(const Network& network, std::span<const CollectiveTiming> timings,
                  const LinkFitOptions& options) {
  LinkFit fit{.network = network, .up = {}, .out = {}};
  const Weighted data = weigh(network, timings);
  const std::vector<FreeParameter> free = free_parameters(span_of(data));
  if (data.timings.empty() || free.empty()) return fit;
  NonlinearFit best = search(network, data, free, 0);
  for (int s = 1; s < options.starts; ++s) {
    NonlinearFit other = search(network, data, free, s);
    if (other.cost < best.cost) best = std::move(other);
  }
  apply(free, best.x, fit.network);
  keep_what_is_told(network, data, free, fit);
  fit.mean_error = mean_error(fit.network, timings);
  return fit;
}

}  // namespace stepscope
