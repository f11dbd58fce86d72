// SPDX-License-Identifier: Apache-2.0
// A collective over a range of sizes: the time of every algorithm at each size, the best algorithm,
// and the sizes at which it changes.
//
// Sizes beyond the largest measured one of the links (LinkTiming::measured_to) are extrapolated. If
// the protocol of such a size is the best one in less than two octaves of what was measured, the
// measurements do not determine its rate. The rate of the largest measured size then limits it.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {

struct SweepPoint {
  Bytes bytes{};                          // total buffer
  std::vector<AlgorithmTime> algorithms;  // fastest first; includes ones that are not offered
  AlgorithmTime best;                     // the fastest that the library offers
  ByteRate bus_rate{};                    // nccl-tests' busbw of the best
  bool beyond = false;                    // what was measured on these links
  bool limited = false;                   // to the rate of the largest measured size
};

struct Crossover {
  Bytes bytes{};  // the first size for which `to` is best
  Algorithm from = Algorithm::ring;
  Protocol from_protocol = Protocol::ll;
  Algorithm to = Algorithm::ring;
  Protocol to_protocol = Protocol::ll;
};

struct CollectiveSweep {
  CollectiveKind kind = CollectiveKind::all_reduce;
  GroupPlacement group;
  std::optional<Bytes> measured_to{};  // absent: not known
  std::vector<SweepPoint> points;      // ascending
  std::vector<Crossover> crossovers;   // ascending, exact to the byte between neighbouring points
};

struct SweepRange {
  Bytes from{1024};
  Bytes to{std::int64_t{1} << 30};
  double factor = 2;  // between neighbouring sizes; the last point is `to`
};

// Errors: a range that is empty or has no positive sizes, a factor not above 1, more than 10,000
// points, a group of one rank, or a kind that is not a collective.
[[nodiscard]] Result<CollectiveSweep> sweep_collective(const Network& network, CollectiveKind kind,
                                                       const GroupPlacement& group,
                                                       const SweepRange& range = {});

}  // namespace stepscope
