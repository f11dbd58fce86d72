// SPDX-License-Identifier: Apache-2.0
// Which device operation another one waited for, where the trace proves it: "Stream Wait Event"
// rows name the stream that waits, the stream it waits for and the call that recorded the event.
// Nothing is inferred without them.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// The streams of one rank in the order their work was launched, and the waits on them.
struct EventWaits {
  using StreamKey = std::pair<int, std::int64_t>;  // device, stream
  struct Launched {
    Ns launched{};
    SliceId op = no_slice;
  };
  struct Wait {
    Ns called{};    // when the host asked stream to wait
    StreamKey on;   // the stream waited for
    Ns recorded{};  // what was launched there until then must end first
  };
  std::map<StreamKey, std::vector<Launched>> streams;  // by launch
  std::map<StreamKey, std::vector<Wait>> waits;        // by call
};

// Empty where the trace has no such rows.
[[nodiscard]] EventWaits event_waits(const Trace& trace, const RankIndex& rank);

// The operation of another stream that ended last among those that `op` waited for, or no_slice.
// Counts the waits between the launch of its predecessor on the stream and its own.
[[nodiscard]] SliceId producer_of(const EventWaits& events, const Trace& trace,
                                  const RankIndex& rank, SliceId op);

}  // namespace stepscope
