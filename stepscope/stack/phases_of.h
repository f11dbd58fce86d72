// SPDX-License-Identifier: Apache-2.0
// To which phase and pass of training each node of a call tree belongs.
//
// HostPhase: of the rules whose path stands in the stack, the one that ends deepest; of those the
// longest path; a fallback rule only where no other holds. A stack without a rule goes by its
// innermost frame that has a symbol: other Python, other native code. StepPass: the innermost frame
// that names one, where a forward within a backward is recomputation.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/stack/instruction_table.h"
#include "stepscope/stack/phase_rules.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

// What is known of a frame besides its text; by StringId.
struct FrameFacts {
  Frame frame;
  int line = 0;             // its own, or by the table
  std::string_view file{};  // likewise
  bool by_table = false;
};

struct NodePhases {
  std::vector<std::uint16_t> self;     // of the stacks that end in a node; an index in the phases
  std::vector<std::uint16_t> through;  // of a node as a part of longer stacks
  std::vector<std::uint8_t> pass;
  std::vector<FrameFacts> frames;
  std::uint64_t resolved = 0;    // frames with an instruction whose line the table told
  std::uint64_t unresolved = 0;  // and those whose line nothing told
};

// `table` may be null, and must outlive the answer.
[[nodiscard]] NodePhases phases_of(const Profile& profile, const PhaseRules& rules,
                                   const InstructionTable* table = nullptr);

}  // namespace stepscope
