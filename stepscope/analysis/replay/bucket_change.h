// SPDX-License-Identifier: Apache-2.0
// The effect of another size of gradient buckets: the messages of every pass (gradient_traffic.h)
// are merged or split, and the recorded steps are replayed with them.
//
// Layout. Gradients that came one by one (DDP) are cut at multiples of the size. Gradients that
// were handed over at once stay together. If they are smaller than the size, the next ones are
// added until the size is reached. If they are larger, they are cut into pieces of the size (the
// last piece has the rest).
//
// A bucket is ready on a rank when its last gradient is ready. This is when the recorded message in
// which it ends was ready. If the bucket ends inside a message whose gradients came one by one, it
// is ready when the same share of the compute launched between the previous message and this one
// was done, as if every byte took equal compute (no trace shows when each gradient came). The
// bucket begins when it is ready on all ranks and the previous bucket has ended, and takes
//
//   time(new bytes) * sum over the recorded messages in it (share of its bytes * measured /
//   time(old bytes))
//
// with time() fitted to the same collective and group in these traces (stats/alpha_beta.h; a line
// for two sizes). A layout that changes nothing therefore changes no time. If a reduce-scatter has
// too few sizes for a fit, all-gathers of its group count too: they send the same number of bytes
// in the same number of steps. Sizes beyond four times the measured ones are refused. A collective
// with one size s that takes t gives bounds: latency + bytes / bandwidth through (s, t) is between
// t min(1, b / s) and t max(1, b / s) for a message of b bytes. A step never gets shorter if a
// message takes longer, so its time is between those of the two replays. Work that followed a
// recorded message follows the last new bucket that ends no later in the order of bytes. The host's
// cost for launches does not change with the number of buckets. A framework's limit of messages in
// flight is ignored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/gradient_traffic.h"
#include "stepscope/analysis/replay/message_time.h"
#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/base/stop.h"

namespace stepscope {

struct GradientBuckets {
  GradientTraffic traffic;
  std::vector<MessageTime> times;  // by kind and group of the passes
};

[[nodiscard]] GradientBuckets find_gradient_buckets(const WhatIfInputs& inputs);

struct BucketAnswer {
  Ns step{};                     // the longest, if there are bounds
  std::optional<Ns> shortest{};  // absent: `step` is no bound
  Message refused;               // reason if refused; empty = answered
  Messages notes;
  std::size_t before = 0;  // messages in all passes
  std::size_t after = 0;
  std::size_t nodes = 0;  // transfers of changed passes
};

// Replays with buckets of `size`. If the passes of one collective and group cannot be answered,
// they stay unchanged and a note says so.
[[nodiscard]] BucketAnswer change_buckets(const WhatIfInputs& inputs,
                                          const GradientBuckets& buckets, Bytes size);

// The best of a few round sizes (at most three below and three above the usual size).
struct BucketSearch {
  CollectiveKind kind = CollectiveKind::unknown;
  Bytes usual{};           // at least half of the bytes are in messages of this size or more
  std::size_t before = 0;  // messages in all passes
  std::size_t after = 0;
  WhatIf best;
};

// Absent if there are no gradient messages or no size saves time.
[[nodiscard]] std::optional<BucketSearch> search_buckets(const WhatIfInputs& inputs,
                                                         const GradientBuckets& buckets,
                                                         unsigned threads,
                                                         const StopFlag* stop = nullptr);

}  // namespace stepscope
