// SPDX-License-Identifier: Apache-2.0
// Joins the unsealed parts of one trace. Several threads read its rows in stretches (chunks of a
// file). The order of the stretches is restored, so the result does not depend on which thread read
// which.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/event/absorb.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Where a stretch begins in its part's tables. It ends where the part's next one begins.
struct RowStretch {
  std::uint32_t part = 0;
  std::uint32_t first_slice = 0;
  std::uint32_t first_memory = 0;
  std::uint32_t first_counter = 0;
};

struct Joined {
  Trace trace;
  std::vector<AbsorbMap> maps;  // id maps of each part
};

// `stretches` is in the final order of rows, which within a part is the part's own. Equal tracks
// (pid, tid, device) become one, notes are added, metadata is the first part's. `threads` threads
// join columns and free them one by one, so the peak memory is the sum plus about a column per
// thread. REQUIRES: no part is sealed; the stretches cover all rows of all parts.
[[nodiscard]] Joined join(std::vector<Trace>&& parts, std::span<const RowStretch> stretches,
                          unsigned threads);

}  // namespace stepscope
