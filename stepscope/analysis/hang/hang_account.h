// SPDX-License-Identifier: Apache-2.0
// Finds why a job stands still, from the communication that its ranks recorded: which rank did not
// come to which collective, the first call on which ranks disagree, sends without a receiver, and
// findings that only follow from others.
//
// In each group the calls are matched by the recorder's number. The first number with a
// disagreement ends the comparison of that group, because later calls cannot be matched. If all
// calls agree, the ranks with the lowest last number are missing in the next call. If a finding's
// rank itself waits in another finding, the first follows from the second.
#pragma once

#include "stepscope/analysis/hang/hang_finding.h"
#include "stepscope/event/comm_records.h"

namespace stepscope {

// Requires settled groups (read/nccl/flight_recorder.h).
[[nodiscard]] HangAccount find_hang(const CommRecords& records);

}  // namespace stepscope
