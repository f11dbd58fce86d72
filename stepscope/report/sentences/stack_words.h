// SPDX-License-Identifier: Apache-2.0
// Weights and frames of host profiles for people.
#pragma once

#include <string>

#include "stepscope/stack/phases_of.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

// "1,245 samples", "12.3 s".
[[nodiscard]] std::string format_weight(double weight, WeightUnit unit);
// Function and place, with the line that a table told.
[[nodiscard]] std::string frame_label(const Profile& profile, const NodePhases& phases,
                                      StringId frame);

}  // namespace stepscope
