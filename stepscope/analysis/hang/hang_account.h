// SPDX-License-Identifier: Apache-2.0
// Why a job stands still, from what its ranks recorded of their communication: who did not come to
// which collective, where ranks first disagree on what they call, which sends nobody receives, and
// what only follows from something else.
//
// In each group the calls are matched by the recorder's number. The first number at which calls
// disagree ends the comparison of that group: behind it nothing can be matched. Where all agree,
// the ranks with the lowest last number are missing in the call after it. A finding whose rank
// itself waits in another finding follows from that one.
#pragma once

#include "stepscope/analysis/hang/hang_finding.h"
#include "stepscope/event/comm_records.h"

namespace stepscope {

// Groups are settled (read/nccl/flight_recorder.h).
[[nodiscard]] HangAccount find_hang(const CommRecords& records);

}  // namespace stepscope
