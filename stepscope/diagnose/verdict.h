// SPDX-License-Identifier: Apache-2.0
// The first sentence: what binds the step, in words, with the numbers that say so.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/fit/mfu_budget.h"
#include "stepscope/say/message.h"

namespace stepscope {

enum class BoundBy : std::uint8_t {
  compute,
  memory,
  communication,
  host,
  data,
  sync,
  copy,
  bubble,
  straggler,
  unexplained
};
inline constexpr auto bound_by_names = enum_names<BoundBy::unexplained>;

struct JobVerdict {
  BoundBy bound_by = BoundBy::unexplained;
  Message sentence;
  Message culprit{};                // the largest single cause with its numbers; may be nothing
  std::vector<Culprit> culprits{};  // the verdict, then its alternatives (culprit.h)
};

// Whether the traces hold communication kernels and no launches: a recorder of communication (the
// plugin of NCCL) made them, and what else the devices did is not known.
[[nodiscard]] bool only_communication(const JobResult& job);

// How to replay the step without a fault. The change for allocations that free cached memory first
// frees all calls of the allocator.
[[nodiscard]] Message to_replay(const Culprit& culprit, std::string traces);

// The step is bound by the group of budget categories with most time in the mean step: compute
// (memory, where other kernels than products run longer), communication (transfer, and what cannot
// be split), host (host, launches), data, sync, copies; waiting is a straggler's where one rank is
// late, else communication; a pipeline's where it is receiving between stages. `machine` (null:
// unknown) gives what share of the memory bandwidth a kernel reaches, and which links are slow.
[[nodiscard]] JobVerdict find_verdict(const JobResult& job, const std::optional<MfuBudget>& mfu,
                                      const Machine* machine = nullptr,
                                      std::optional<int> world_size = std::nullopt);

}  // namespace stepscope
