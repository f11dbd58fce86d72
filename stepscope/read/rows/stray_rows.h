// SPDX-License-Identifier: Apache-2.0
// Rows with instants decades away from all others. Profilers write zero if they have no time, and
// one such row would make the clock and the window of the whole trace meaningless.
#pragma once

#include "stepscope/event/trace.h"

namespace stepscope {

// Instants beyond this count from the UNIX epoch (1985 in ns).
inline constexpr Ns earliest_epoch{500'000'000'000'000'000};

// Sets the clock of an unsealed trace, whose instants are as in the file: the UNIX epoch if most
// slices count from it. Removes slices, memory events and readings on the other side of
// earliest_epoch and notes them as timestamp_out_of_range. Collectives and readings of a removed
// slice are removed too.
void drop_strays(Trace& trace);

}  // namespace stepscope
