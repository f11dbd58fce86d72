// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/collective_sweep.h"

#include <algorithm>
#include <cmath>

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
  return sweep;
}

}  // namespace stepscope
