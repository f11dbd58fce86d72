// SPDX-License-Identifier: Apache-2.0
// Whether two ranks' calls can be one collective, and what a rank did otherwise than the others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "stepscope/analysis/hang/hang_finding.h"
#include "stepscope/event/comm_records.h"

namespace stepscope {

// What keeps two calls of one number apart: operation, size, type or argument; nullopt where
// nothing does. Numbers of elements are compared, not shapes: NCCL sees no others. Of all-to-alls
// only the sum over all ranks tells, of scatters and gathers only the side that each rank has.
[[nodiscard]] std::optional<HangKind> difference(const CommCall& a, const CommCall& b);

// What a rank that calls `mine` where the others call `theirs` did, by what follows in both (each
// begins with the call that differs).
struct Deviation {
  HangKind kind = HangKind::operation;
  bool next_of_others = false;
};
[[nodiscard]] Deviation deviation(std::span<const CommCall> mine, std::span<const CommCall> theirs);

}  // namespace stepscope
