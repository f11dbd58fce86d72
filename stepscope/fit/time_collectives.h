// SPDX-License-Identifier: Apache-2.0
// Times collectives over any transport, as the model counts them: from the arrival of the last rank
// to the end at the slowest one.
#pragma once

#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/comm/communicator/communicator.h"
#include "stepscope/fit/link_fit.h"

namespace stepscope {

struct LinkSweep {
  Bytes from{1024};
  Bytes to{64 << 20};
  int per_octave = 1;          // sizes a factor of two
  Ns time_a_size{30'000'000};  // about; at least `least` and at most `most` calls
  int least = 5;
  int most = 200;
};

// All-gather, reduce-scatter and all-reduce of f32 over all ranks of `comm`; medians over the
// calls. Called by all its ranks with the same sweep; the same result at each. Empty for a group of
// one. Error: the transport's. Holds twice `to` of memory.
[[nodiscard]] Result<std::vector<CollectiveTiming>> time_collectives(Communicator& comm,
                                                                     const LinkSweep& sweep);

}  // namespace stepscope
