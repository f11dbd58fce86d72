// SPDX-License-Identifier: Apache-2.0
// Assigns each node of a call tree to a phase and a pass of training.
//
// HostPhase: among the rules whose path is in the stack, the one that ends deepest wins, and then
// the one with the longest path. A fallback rule applies only if no other does. A stack without a
// rule is assigned by its innermost frame with a symbol: other Python, or other native code.
// StepPass: the innermost frame that names one decides. A forward within a backward is
// recomputation.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/stack/instruction_table.h"
#include "stepscope/stack/phase_rules.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

// Parsed data of a frame's text, by StringId.
struct FrameFacts {
  Frame frame;
  int line = 0;             // its own, or from the table
  std::string_view file{};  // its own, or from the table
  bool by_table = false;
};

struct NodePhases {
  std::vector<std::uint16_t> self;     // of stacks that end in the node; index in phases
  std::vector<std::uint16_t> through;  // of the node as a part of longer stacks
  std::vector<std::uint8_t> pass;
  std::vector<FrameFacts> frames;
  std::uint64_t resolved = 0;    // frames with an instruction whose line the table has
  std::uint64_t unresolved = 0;  // frames with an instruction without a known line
  std::uint64_t off_table = 0;   // those of them whose function the table has
};

// `table` may be null, and must outlive the result.
[[nodiscard]] NodePhases phases_of(const Profile& profile, const PhaseRules& rules,
                                   const InstructionTable* table = nullptr);

}  // namespace stepscope
