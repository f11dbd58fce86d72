// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/collective_sweep.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "stepscope/cost/model/formula.h"

namespace stepscope {
namespace {

constexpr double most_points = 10'000;

std::optional<Error> refuse(CollectiveKind kind, const GroupPlacement& group,
                            const SweepRange& range) {
  if (kind == CollectiveKind::none || kind == CollectiveKind::unknown) {
    return Error{.what = "no collective to time", .hint = "name one with --collective"};
  }
  if (group.size < 2)
    return Error{.what = "a group of one rank communicates with nobody",
                 .hint = "give --group 2 or more"};
  if (range.from.value < 1 || range.to < range.from) {
    return Error{.what = "sizes from " + std::to_string(range.from.value) + " to " +
                         std::to_string(range.to.value) + " bytes are no range",
                 .hint = "write the smaller size first, as --bytes 1KB:1GB"};
  }
  if (!(range.factor > 1) || !std::isfinite(range.factor)) {
    return Error{.what = "sizes must grow by a factor above 1"};
  }
  const double decades =
      std::log(static_cast<double>(range.to.value) / static_cast<double>(range.from.value));
  if (decades / std::log(range.factor) > most_points) {
    return Error{.what = "more than 10000 sizes", .hint = "give a narrower range of --bytes"};
  }
  return std::nullopt;
}

const AlgorithmTime& best_offered(const std::vector<AlgorithmTime>& algorithms) {
  const auto at = std::ranges::find(algorithms, true, &AlgorithmTime::offered);
  check(at != algorithms.end(), "every collective has an algorithm");
  return *at;
}

bool same(const AlgorithmTime& a, const AlgorithmTime& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

SweepPoint point(const Network& network, CollectiveKind kind, const GroupPlacement& group,
                 Bytes bytes) {
  SweepPoint p{
      .bytes = bytes, .algorithms = collective_algorithms(network, kind, bytes, group), .best = {}};
  p.best = best_offered(p.algorithms);
  p.bus_rate = ByteRate{busbw_factor(kind, group.size).value() * static_cast<double>(bytes.value) /
                        p.best.time.count()};
  return p;
}

// Holds all algorithms to the rate of the largest measured size.
void limit(const Network& network, Bytes measured_to, CollectiveSweep& sweep) {
  const auto best_at = [&](Bytes bytes) {
    return best_offered(collective_algorithms(network, sweep.kind, bytes, sweep.group));
  };
  constexpr std::int64_t two_octaves = 4;
  const AlgorithmTime largest = best_at(measured_to);
  const AlgorithmTime below =
      best_at(Bytes{std::max<std::int64_t>(1, measured_to.value / two_octaves)});
  const double rate = static_cast<double>(measured_to.value) / largest.time.count();
  for (SweepPoint& p : sweep.points) {
    p.beyond = p.bytes > measured_to;
    if (!p.beyond || same(p.best, below)) continue;
    const auto bytes = static_cast<double>(p.bytes.value);
    const Seconds least{bytes / rate};
    if (p.best.time >= least) continue;
    p.limited = true;
    const std::string text =
        formula::bytes<Formula>(bytes).figures().text + " / (" +
        formula::byte_rate<Formula>(rate).figures().text + ", as of " +
        formula::bytes<Formula>(static_cast<double>(measured_to.value)).figures().text +
        ") = " + formula::seconds<Formula>(least.count()).figures().text;
    for (AlgorithmTime& a : p.algorithms) {
      if (a.time >= least) continue;
      a.time = least;
      a.formula = text;
    }
    p.best.time = least;
    p.best.formula = text;
    p.bus_rate.value = busbw_factor(sweep.kind, sweep.group.size).value() * rate;
  }
}

// All changes of the best algorithm between two sizes: finds the first size whose best differs from
// `low`'s, then continues from there.
void find_crossovers(const Network& network, const SweepPoint& low, const SweepPoint& high,
                     CollectiveSweep& sweep) {
  AlgorithmTime before = low.best;
  std::int64_t from = low.bytes.value;
  while (!same(before, high.best) && from < high.bytes.value) {
    std::int64_t differs = high.bytes.value;
    for (std::int64_t is = from; differs - is > 1;) {
      const std::int64_t middle = is + (differs - is) / 2;
      const auto best =
          best_offered(collective_algorithms(network, sweep.kind, Bytes{middle}, sweep.group));
      (same(best, before) ? is : differs) = middle;
    }
    const AlgorithmTime after =
        best_offered(collective_algorithms(network, sweep.kind, Bytes{differs}, sweep.group));
    sweep.crossovers.push_back({.bytes = Bytes{differs},
                                .from = before.algorithm,
                                .from_protocol = before.protocol,
                                .to = after.algorithm,
                                .to_protocol = after.protocol});
    before = after;
    from = differs;
  }
}

}  // namespace

Result<CollectiveSweep> sweep_collective(const Network& network, CollectiveKind kind,
                                         const GroupPlacement& group, const SweepRange& range) {
  if (auto error = refuse(kind, group, range)) return *std::move(error);
  CollectiveSweep sweep{.kind = kind, .group = group, .points = {}, .crossovers = {}};
  Bytes bytes = range.from;
  for (;;) {
    sweep.points.push_back(point(network, kind, group, bytes));
    if (bytes >= range.to) break;
    const double next = std::round(static_cast<double>(bytes.value) * range.factor);
    const double last = static_cast<double>(range.to.value);
    // Tiny sizes would round to the same size.
    bytes.value =
        next >= last ? range.to.value : std::max(bytes.value + 1, static_cast<std::int64_t>(next));
  }
  for (std::size_t i = 1; i < sweep.points.size(); ++i) {
    find_crossovers(network, sweep.points[i - 1], sweep.points[i], sweep);
  }
  sweep.measured_to = group.domains > 1 ? network.out_measured_to : network.up_measured_to;
  if (sweep.measured_to) limit(network, *sweep.measured_to, sweep);
  return sweep;
}

}  // namespace stepscope
