// SPDX-License-Identifier: Apache-2.0
// How far a file that ends too early reaches in time. Writers group rows by kind and write each
// kind nearly in time order, so the lost rows are the late ones of the kinds that were not
// finished.
#pragma once

#include "stepscope/event/trace.h"

namespace stepscope {

// The cut of an unsealed trace, whose rows are in file order. Rows have three kinds: rows of the
// host, calls of the device's runtime, and rows of the device. A kind is finished if more rows
// follow its last one than ever stood between two of its rows. Rows of an unfinished kind may be
// missing from (its latest begin - the farthest that one of its rows is behind an earlier one) on.
// Without any row of a kind nothing is known to be complete.
[[nodiscard]] CaptureCut find_cut(const Trace& trace);

}  // namespace stepscope
