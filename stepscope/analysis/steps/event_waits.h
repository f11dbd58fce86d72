// SPDX-License-Identifier: Apache-2.0
// Which device operation another one waited for, where the trace shows it. "Stream Wait Event" rows
// name the waiting stream, the awaited stream and the call that recorded the event. Most traces
// lack these rows and have only the calls of the host (called_waits).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// The streams of one rank in launch order, and the waits on them.
struct EventWaits {
  using StreamKey = std::pair<int, std::int64_t>;  // device, stream
  struct Launched {
    Ns launched{};
    SliceId op = no_slice;
  };
  struct Wait {
    Ns called{};    // when the host asked the stream to wait
    StreamKey on;   // the awaited stream
    Ns recorded{};  // everything launched there until then must end first
  };
  std::map<StreamKey, std::vector<Launched>> streams;  // sorted by launch
  std::map<StreamKey, std::vector<Wait>> waits;        // sorted by call
};

// Empty if the trace has no such rows.
[[nodiscard]] EventWaits event_waits(const Trace& trace, const RankIndex& rank);

// The operation of another stream that ended last among the operations `op` waited for, or
// no_slice. Counts the waits between the launch of the previous operation on the stream and the
// launch of `op`.
[[nodiscard]] SliceId producer_of(const EventWaits& events, const Trace& trace,
                                  const RankIndex& rank, SliceId op);

// A kernel that waits for communication because its host called a stream-wait between both
// launches: work.wait() of c10d.
struct CalledWait {
  SliceId communication = no_slice;
  SliceId kernel = no_slice;  // launched next, no communication
};
// The call counts if communication was the last launch of the process before it, and if it is not
// within the operator that launched the communication. O(rows).
[[nodiscard]] std::vector<CalledWait> called_waits(const Trace& trace, const RankIndex& rank);

}  // namespace stepscope
