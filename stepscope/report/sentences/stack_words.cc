// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/stack_words.h"

#include <cmath>

#include "stepscope/say/format.h"
#include "stepscope/stack/flame.h"

namespace stepscope {

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
  return weight == std::floor(weight) && std::abs(weight) < 1e15
             ? format_whole(static_cast<std::int64_t>(weight))
             : format_digits(weight);
}

std::string frame_label(const Profile& profile, const NodePhases& phases, StringId frame) {
  return printable(frame_words(profile, phases, frame));
}

}  // namespace stepscope
