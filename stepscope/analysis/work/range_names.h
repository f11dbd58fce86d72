// SPDX-License-Identifier: Apache-2.0
// The names under which ranges of the program are summed. A number in a name either counts calls
// ("step_3", "AllReduce_42_104.9MB") or names a part that comes again in every step ("layer3",
// "Forward 1"). A counting number makes each call a name of its own, so such names are one, with
// "#" for the number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// The name with "#" for every whole number: "AllReduce_#_104.9MB". Numbers with a decimal point or
// a unit are sizes and stay. Equal to the name if it has no other number, or nothing else.
[[nodiscard]] std::string name_without_numbers(std::string_view name);

class RangeNames {
 public:
  // Names that differ only by numbers are joined if none of them comes in two steps, and if they
  // come in two steps or more together.
  RangeNames(const Trace& trace, const RankIndex& rank, std::span<const Step> steps);

  // The number of the name under which rows of this name are summed.
  [[nodiscard]] std::uint32_t number(StringId name) const;
  // The name of such a number.
  [[nodiscard]] std::string_view text(std::uint32_t number) const;

 private:
  const Trace& trace_;
  std::vector<std::uint32_t> number_;  // by StringId; empty if nothing is joined
  std::vector<std::string> joined_;    // of the numbers behind those of the trace's strings
};

}  // namespace stepscope
