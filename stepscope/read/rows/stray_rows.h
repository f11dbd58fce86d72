// SPDX-License-Identifier: Apache-2.0
// Rows whose instants lie decades from all others: profilers write zero where they could take no
// time, and one such row would make the whole trace's clock and window meaningless.
#pragma once

#include "stepscope/event/trace.h"

namespace stepscope {

// What lies beyond this counts from the UNIX epoch (1985 in ns).
inline constexpr Ns earliest_epoch{500'000'000'000'000'000};

// Whether most slices of an unsealed trace, its instants as in the file, count from the epoch.
[[nodiscard]] bool counts_from_epoch(const Trace& trace);

// Removes slices, memory events and readings on the other side of earliest_epoch, noted as
// timestamp_out_of_range. Collectives and readings of a removed slice go with it.
void drop_strays(Trace& trace, bool epoch);

}  // namespace stepscope
