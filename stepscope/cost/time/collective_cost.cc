// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/collective_cost.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace stepscope {
namespace {

using namespace collective_terms;

Seconds micro(double us) { return Seconds{us * 1e-6}; }

// A barrier moves no bytes.
double bytes_of(CollectiveKind kind, Bytes total) {
  return kind == CollectiveKind::barrier ? 0 : static_cast<double>(total.value);
}

// Sums in us and in seconds differ in the last digits.
Formula expression(const Terms& t, const Group& g, double bytes) {
  return time<Formula>(t, g, bytes).with_value(time<double>(t, g, bytes) * 1e-6);
}

std::string shown(const Formula& f) {
  return f.figures().text + " = " + formula::seconds<Formula>(f.value()).figures().text;
}

}  // namespace

Seconds collective_time(const Network& network, CollectiveKind kind, Bytes total,
                        const GroupPlacement& group) {
  if (group.size < 2) return {};
  const Group g = group_of(group, kind);
  const double bytes = bytes_of(kind, total);
  double best = std::numeric_limits<double>::infinity();
  for_each(network, kind, group, g, false, [&](Algorithm, Protocol, bool, const Terms& t) {
    best = std::min(best, time<double>(t, g, bytes));
  });
  return micro(best);
}

Formula collective_formula(const Network& network, CollectiveKind kind, Bytes total,
                           const GroupPlacement& group) {
  check(group.size >= 2, "a collective has two devices or more");
  const Group g = group_of(group, kind);
  const double bytes = bytes_of(kind, total);
  std::optional<Terms> best;
  for_each(network, kind, group, g, false, [&](Algorithm, Protocol, bool, const Terms& t) {
    if (!best || time<double>(t, g, bytes) < time<double>(*best, g, bytes)) best = t;
  });
  return expression(*best, g, bytes);
}

std::vector<AlgorithmTime> collective_algorithms(const Network& network, CollectiveKind kind,
                                                 Bytes total, const GroupPlacement& group) {
  std::vector<AlgorithmTime> times;
  if (group.size < 2) return times;
  const Group g = group_of(group, kind);
  const double bytes = bytes_of(kind, total);
  const auto visit = [&](Algorithm algorithm, Protocol protocol, bool offered, const Terms& t) {
    const Seconds taken = micro(time<double>(t, g, bytes));
    auto at = std::ranges::find(times, algorithm, &AlgorithmTime::algorithm);
    if (at != times.end() && at->time <= taken) return;
    if (at == times.end()) at = times.insert(times.end(), AlgorithmTime{});
    *at = {.algorithm = algorithm,
           .protocol = protocol,
           .offered = offered,
           .time = taken,
           .start = micro(t.start),
           .steps = micro(steps<double>(t)),
           .transfer = micro(transfer<double>(t, g, bytes)),
           .formula = shown(expression(t, g, bytes))};
  };
  for_each(network, kind, group, g, true, visit);
  std::ranges::sort(times, [](const AlgorithmTime& a, const AlgorithmTime& b) {
    return std::tie(a.time, a.algorithm) < std::tie(b.time, b.algorithm);
  });
  return times;
}

}  // namespace stepscope
