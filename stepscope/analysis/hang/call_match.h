// SPDX-License-Identifier: Apache-2.0
// Tells if two ranks' calls can be one collective, and how a rank deviated from the others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "stepscope/analysis/hang/hang_finding.h"
#include "stepscope/event/comm_records.h"

namespace stepscope {

// The difference between two calls of one number: operation, size, type or argument; nullopt if
// there is none. Compares numbers of elements, not shapes: NCCL sees no shapes. All-to-alls can be
// judged only by the sum over all ranks, scatters and gathers only by the side that each rank has.
[[nodiscard]] std::optional<HangKind> difference(const CommCall& a, const CommCall& b);

// The deviation of a rank that calls `mine` where the others call `theirs`, from the following
// calls of both. Each list begins with the call that differs.
struct Deviation {
  HangKind kind = HangKind::operation;
  bool next_of_others = false;
};
[[nodiscard]] Deviation deviation(std::span<const CommCall> mine, std::span<const CommCall> theirs);

}  // namespace stepscope
