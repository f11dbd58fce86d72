// SPDX-License-Identifier: Apache-2.0
// Times collectives over any transport in the model's terms: from the arrival of the last rank to
// the end at the slowest rank.
#pragma once

#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/fit/link_fit.h"

namespace stepscope {

struct LinkSweep {
  Bytes from{1024};
  Bytes to{64 << 20};
  double sizes_per_octave = 1;  // an octave is a factor of two
  Ns time_a_size{30'000'000};   // approximate; between `least` and `most` calls
  int least = 5;
  int most = 200;
};

// All-gather, reduce-scatter and all-reduce of f32 over all ranks of `comm`; medians over the
// calls, with their spread. All ranks must call it with the same sweep; all get the same result.
// Empty for a group of one rank. Errors: those of the transport. Allocates twice `to`.
[[nodiscard]] Result<std::vector<CollectiveTiming>> time_collectives(Communicator& comm,
                                                                     const LinkSweep& sweep);

}  // namespace stepscope
