// SPDX-License-Identifier: Apache-2.0
// Where the threads of host profiles are, and what the device did meanwhile.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/say/message.h"
#include "stepscope/stack/phases_of.h"
#include "stepscope/stack/profile.h"
#include "stepscope/verbs/stacks/stacks.h"

namespace stepscope {

// "pt_autograd_0: 33 % in ZeRO-3 gradient reduction; ...".
[[nodiscard]] Message stacks_sentence(const StacksResult& report);
// "While pt_autograd_0 is in ZeRO-3 reduce throttle the device is idle for 2 % of the time"; empty
// where nothing is joined.
[[nodiscard]] Message stacks_trace_sentence(const StacksResult& report);

// The largest phase of a thread that says what holds it up; else its largest that is shown.
[[nodiscard]] std::optional<PhaseWeight> main_phase(const StacksResult& report,
                                                    const ThreadSummary& thread);
// What a share of a thread is of: all but its idling.
[[nodiscard]] double active_weight(const ThreadSummary& thread);

// The rank of the trace that a profile is joined with.
[[nodiscard]] const RankResult& rank_of(const StacksResult& report,
                                        const ProfileBesideTrace& profile);
// "device", or what stands for it in a trace without one.
[[nodiscard]] std::string_view device_word(const RankResult& rank);
// Whether the thread idles in that phase, or is not shown.
[[nodiscard]] bool idles(const StacksResult& report, const JoinedPhase& phase);
// Threads with most to do within the steps first; into `join`.
[[nodiscard]] std::vector<const JoinedThread*> busiest_threads(const StacksResult& report,
                                                               const StackJoin& join);

// "1,245 samples", "12.3 s".
[[nodiscard]] std::string format_weight(double weight, WeightUnit unit);
// Function and place, with the line from a table of instructions.
[[nodiscard]] std::string frame_label(const Profile& profile, const NodePhases& phases,
                                      StringId frame);

}  // namespace stepscope
