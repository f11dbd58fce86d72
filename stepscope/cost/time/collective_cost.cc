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

// "7 * 3.5 us within + 2 * 5.1 us across".
Formula steps_formula(const Terms& t) {
  const auto part = [](double hops, double hop, const char* where) {
    using namespace formula;
    const Formula f = count(hops) * seconds(hop * 1e-6);
    return Formula(f.text() + where, f.value(), Formula::Binding::product);
  };
  return formula::sum(
      {part(t.hops, t.hop, " within"), part(t.hops_across, t.hop_across, " across")},
      formula::seconds(0));
}

// "max(1.75 * 0.05 GB / 300 GB/s within, 1.8 * 0.05 GB / 100 GB/s across)".
Formula transfer_formula(const Terms& t, const GroupPlacement& g, double bytes) {
  const auto part = [bytes](double factor, ByteRate rate, const char* where) {
    using namespace formula;
    const Formula f =
        count(factor) * formula::bytes(bytes) / byte_rate(rate.value > 0 ? rate.value : 1);
    return Formula(f.text() + where, f.value(), Formula::Binding::product);
  };
  Formula within = part(t.within_factor, g.within, " within");
  const Formula across = part(t.across_factor, g.across, " across");
  const bool uses_within = t.within_factor > 0 && g.within.value > 0;
  const bool uses_across = t.across_factor > 0 && g.across.value > 0;
  if (uses_within && uses_across) return formula::max(within, across);
  if (uses_within) return within;
  return uses_across ? across : formula::seconds(0);
}

// start + combined(a, b, c, k).
Formula expression(const Terms& t, const GroupPlacement& placed, const Group& g, double bytes) {
  const Formula a = steps_formula(t);
  const Formula b = transfer_formula(t, placed, bytes);
  const Formula start = formula::seconds(t.start * 1e-6);
  const std::string text = start.text() + " + combined(" + a.text() + ", " + b.text() + ", " +
                           formula::count(t.exposed).text() + ", " + formula::count(t.fill).text() +
                           ")";
  return {text, time(t, g, bytes) * 1e-6, Formula::Binding::sum};
}

std::string shown(const Formula& f) {
  return f.text() + " = " + formula::seconds(f.value()).text();
}

}  // namespace

Seconds collective_time(const Network& network, CollectiveKind kind, Bytes total,
                        const GroupPlacement& group) {
  if (group.size < 2) return {};
  const Group g = group_of(group, kind);
  const double bytes = bytes_of(kind, total);
  double best = std::numeric_limits<double>::infinity();
  for_each(network, kind, group, g, false, [&](Algorithm, Protocol, bool, const Terms& t) {
    const double a = steps(t);
    const double b = transfer(t, g, bytes);
    best = std::min(best, t.start + combined(t, a, b));
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
    if (!best || time(t, g, bytes) < time(*best, g, bytes)) best = t;
  });
  return expression(*best, group, g, bytes);
}

std::vector<AlgorithmTime> collective_algorithms(const Network& network, CollectiveKind kind,
                                                 Bytes total, const GroupPlacement& group) {
  std::vector<AlgorithmTime> times;
  if (group.size < 2) return times;
  const Group g = group_of(group, kind);
  const double bytes = bytes_of(kind, total);
  const auto visit = [&](Algorithm algorithm, Protocol protocol, bool offered, const Terms& t) {
    const Seconds taken = micro(time(t, g, bytes));
    auto at = std::ranges::find(times, algorithm, &AlgorithmTime::algorithm);
    if (at != times.end() && at->time <= taken) return;
    if (at == times.end()) at = times.insert(times.end(), AlgorithmTime{});
    *at = {.algorithm = algorithm,
           .protocol = protocol,
           .offered = offered,
           .time = taken,
           .start = micro(t.start),
           .steps = micro(steps(t)),
           .transfer = micro(transfer(t, g, bytes)),
           .formula = shown(expression(t, group, g, bytes))};
  };
  for_each(network, kind, group, g, true, visit);
  std::ranges::sort(times, [](const AlgorithmTime& a, const AlgorithmTime& b) {
    return std::tie(a.time, a.algorithm) < std::tie(b.time, b.algorithm);
  });
  return times;
}

}  // namespace stepscope
