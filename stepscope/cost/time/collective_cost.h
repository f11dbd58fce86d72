// SPDX-License-Identifier: Apache-2.0
// The time of a collective: the fastest of the algorithms that the library would use.
//
// One algorithm over one protocol takes  start + combined(a, b). a, the steps, is the sequential
// part that a message without bytes also takes. b, the transfer, is the time of the narrowest links
// for the bytes:
//
//   combined(a, b) = (a + b + sqrt((a - b)^2 + 4 c a b)) / 2 + 2 k sqrt(a b)
//
// c = 0 is the longer of both, c = 1 their sum. k = 1 (with c = 1) is a pipeline with the best size
// of chunks, (sqrt a + sqrt b)^2. Rings have c = `exposed` and k = 0, trees c = 1 and k =
// `tree_fill`, switches c = k = 1. With n ranks in N domains of k, S the total buffer, B the rate
// within a domain, R the rate of k ports:
//
//   ring         steps  r ((n - N) hop + (N - 1) hop across)                     r = 2, 1, 1, ...
//                within S (r (n - 1)/n / link_efficiency + pass) / B              AR, AG, RS
//                across r (n - 1)/n S (1 + turn / k) / (link_efficiency R)
//   tree         steps  2 ((k - 1) tree_hop + ceil(log2 N) tree_hop across)      all-reduce
//                across 2 S (1 + turn / k) / (tree_efficiency link_efficiency R); N = 2: S
//   in-network   within 2 (n - 1)/n S / (reduce_efficiency B)                    all-reduce
//   hierarchical in-network (or rings) within, a tree (or rings) across
//   direct       a message to each peer; all-to-all, gather, scatter, send and receive
//
// Ring and tree: Thakur, Rabenseifner, Gropp 2005 and Sanders, Speck, Traeff 2009 (two trees). Step
// counts and the choice are as in NCCL's src/graph/tuning.cc. Total buffers are as in nccl-tests'
// PERFORMANCE.md: all-gather counts received bytes, reduce-scatter and all-to-all sent bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/time/collective_terms.h"

namespace stepscope {

// 0 for a group of one rank. Monotonic in `total`. Allocates nothing. `kind` must be a collective.
[[nodiscard]] Seconds collective_time(const Network& network, CollectiveKind kind, Bytes total,
                                      const GroupPlacement& group);

struct AlgorithmTime {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;  // the fastest for this size
  bool offered = true;                   // the library would use it; else shown for comparison
  Seconds time{};
  Seconds start{};
  Seconds steps{};      // alpha: with `start`, the time of a message without bytes
  Seconds transfer{};   // beta: the time of the bytes alone
  std::string formula;  // with its values and its result
};

// The formula behind collective_time, with its values. REQUIRES: a group of two or more ranks.
[[nodiscard]] Formula collective_formula(const Network& network, CollectiveKind kind, Bytes total,
                                         const GroupPlacement& group);

// One entry per algorithm that can run this collective, fastest first. Empty for a group of one
// rank.
[[nodiscard]] std::vector<AlgorithmTime> collective_algorithms(const Network& network,
                                                               CollectiveKind kind, Bytes total,
                                                               const GroupPlacement& group);

}  // namespace stepscope
