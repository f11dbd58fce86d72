// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/stack_words.h"

#include <fmt/format.h>

#include <cmath>

#include "stepscope/words/format.h"

namespace stepscope {
namespace {

std::string thousands(double n) {
  std::string digits = fmt::format("{:.0f}", n);
  for (std::size_t at = digits.size(); at > 3 + (digits[0] == '-' ? 1U : 0U); at -= 3)
    digits.insert(at - 3, 1, ',');
  return digits;
}

}  // namespace

std::string format_weight(double weight, WeightUnit unit) {
  switch (unit) {
    case WeightUnit::nanoseconds:
      return format_time(weight);
    case WeightUnit::bytes:
      return format_bytes(weight);
    case WeightUnit::samples:
    case WeightUnit::other:
      break;
  }
  return weight == std::floor(weight) && std::abs(weight) < 1e15 ? thousands(weight)
                                                                 : format_digits(weight);
}

std::string frame_label(const Profile& profile, const NodePhases& phases, StringId frame) {
  return printable(frame_words(profile, phases, frame));
}

}  // namespace stepscope
