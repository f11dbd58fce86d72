// SPDX-License-Identifier: Apache-2.0
// Host profiles together with a trace of the same run: what the device did while the host sat in
// each phase, where the two can be joined in time, and what that gives reason to try.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/rank_result.h"
#include "stepscope/diagnose/finding.h"
#include "stepscope/fit/stack_join.h"
#include "stepscope/stack/phase_rules.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

struct ProfileBesideTrace {
  std::uint32_t input = 0;  // of Profile::inputs
  std::size_t rank = 0;     // place in JobResult::ranks
  std::optional<Ns> offset{};
  Message why_not{};                // not joined in time; `join` is empty then
  std::optional<StackJoin> join{};  // on the trace's clock
};

// What somebody with traces should try, seen in the stacks: docs/reference/findings.md.
[[nodiscard]] std::vector<Finding> stack_findings(const Profile& profile, const PhaseRules& rules,
                                                  std::span<const RankResult> ranks,
                                                  const std::vector<ProfileBesideTrace>& beside);

// A thread for people: without addresses and numbers where the rest still distinguishes it.
[[nodiscard]] std::string thread_label(const Profile& profile, std::uint32_t thread);
// "reads collapsed stacks: 3 lines without a count were skipped", one a reason.
[[nodiscard]] Messages input_remarks(const Profile& profile);

}  // namespace stepscope
