// SPDX-License-Identifier: Apache-2.0
// What another size of gradient buckets would buy: the messages of every pass (gradient_traffic.h)
// merged or split, and the recorded steps replayed with them.
//
// Layout. Gradients that came one by one (DDP) are cut wherever the size says. What was handed over
// at once stays together: smaller than the size it is filled up with what follows until the size is
// reached, larger it is cut into pieces of the size (the last one has the rest).
//
// A bucket is ready on a rank when the last of its gradients is: with the recorded message that it
// ends in; where it ends inside one whose gradients came one by one, when that share of the compute
// launched between this message and the one before was done, as if every byte took the same compute
// (nothing in a trace says which gradient came when). It begins when it is ready on all ranks and
// the bucket before it is through, and takes
//
//   time(new bytes) * sum over the recorded messages in it (share of its bytes * measured /
//   time(old bytes))
//
// with time() fitted to the same collective and group in these traces (stats/alpha_beta.h; through
// two sizes a line), so a layout that changes nothing changes no time. Where a reduce-scatter has
// too few sizes for that, all-gathers of its group count too: they send as many bytes in as many
// steps. Sizes beyond four times those measured are refused, and so is a collective with one size.
// What followed a recorded message follows the last new bucket that ends no later in the order of
// bytes. Launching more or fewer buckets costs the host what it did; messages that a framework
// allows under way at once are not counted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/gradient_traffic.h"
#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/base/stop.h"
#include "stepscope/stats/alpha_beta.h"

namespace stepscope {

// Time of one collective in one group, by size.
struct MessageTime {
  CollectiveKind kind = CollectiveKind::unknown;
  std::uint32_t group = no_row;
  std::optional<AlphaBetaFit> fit;
  std::string refused;  // why there is none
  std::string note;     // where it is not from its own sizes alone

  // In ns; absent beyond four times the sizes measured.
  [[nodiscard]] std::optional<double> at(double bytes) const;
};

struct GradientBuckets {
  GradientTraffic traffic;
  std::vector<MessageTime> times;  // by kind and group of the passes

  [[nodiscard]] const MessageTime& time_of(const GradientPass& pass) const;
};

[[nodiscard]] GradientBuckets find_gradient_buckets(const WhatIfInputs& inputs);

struct BucketAnswer {
  Ns step{};
  std::string refused;  // why not; empty = answered
  std::vector<std::string> notes;
  std::size_t before = 0;  // messages over all passes
  std::size_t after = 0;
  std::size_t nodes = 0;  // transfers of passes that change
};

// With buckets of `size`. Other passes go on where those of one collective and group cannot be
// answered, and a note says so.
[[nodiscard]] BucketAnswer change_buckets(const WhatIfInputs& inputs,
                                          const GradientBuckets& buckets, Bytes size);

// The size among a few round ones (at most three below and three above the usual one) that gives
// back most.
struct BucketSearch {
  CollectiveKind kind = CollectiveKind::unknown;
  Bytes usual{};           // half of the bytes go in messages of at least this size
  std::size_t before = 0;  // messages of all passes
  std::size_t after = 0;
  WhatIf best;
};

// Absent where nothing can be asked or no size gives anything back.
[[nodiscard]] std::optional<BucketSearch> search_buckets(const WhatIfInputs& inputs,
                                                         const GradientBuckets& buckets,
                                                         unsigned threads,
                                                         const StopFlag* stop = nullptr);

}  // namespace stepscope
