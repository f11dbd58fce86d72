// SPDX-License-Identifier: Apache-2.0
// The `cat` of what a merged trace says about its run. Readers leave such slices out: they are no
// events of the run.
#pragma once

#include <string_view>

namespace stepscope {

inline constexpr std::string_view finding_category = "stepscope_finding";

}  // namespace stepscope
