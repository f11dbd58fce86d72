// SPDX-License-Identifier: Apache-2.0
// Joins the unsealed parts of one trace whose rows were dealt out in stretches (chunks of a file,
// read by several threads) and restores the stretches' order: the result does not depend on who
// read what.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/event/absorb.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Where a stretch begins in its part's tables; it ends where the part's next one begins.
struct RowStretch {
  std::uint32_t part = 0;
  std::uint32_t first_slice = 0;
  std::uint32_t first_memory = 0;
  std::uint32_t first_counter = 0;
};

struct Joined {
  Trace trace;
  std::vector<AbsorbMap> maps;  // where the ids of each part went
};

// `stretches` in the order that the rows shall have; those of one part in the order they have in
// it. Equal tracks (pid, tid, device) become one, notes add up, metadata is the first part's.
// Columns are joined by `threads` threads and freed one by one, so the peak is about a column a
// thread above the sum. REQUIRES: no part is sealed; the stretches cover all rows of all parts.
[[nodiscard]] Joined join(std::vector<Trace>&& parts, std::span<const RowStretch> stretches,
                          unsigned threads);

}  // namespace stepscope
