// SPDX-License-Identifier: Apache-2.0
// Where each process of a thread dump stands: its main thread, or what works for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/stack/phase_rules.h"
#include "stepscope/stack/phases_of.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

struct Standing {
  std::uint32_t input = 0;   // index in Profile::inputs
  std::uint32_t thread = 0;  // index in Profile::threads
  std::uint32_t phase = 0;   // index in PhaseRules::phases
  std::string frame{};       // the innermost frame of the program: "main (train.py:190)"; or empty
};

// One a process of the inputs that are thread dumps, in their order. The main thread stands for its
// process, unless it waits for backward, which another thread runs.
[[nodiscard]] std::vector<Standing> standing_of(const Profile& profile, const PhaseRules& rules,
                                                const NodePhases& phases);

}  // namespace stepscope
