// SPDX-License-Identifier: Apache-2.0
// The short names of the catalogue's machines: "h100_sxm_80gb".
#pragma once

#include <string_view>
#include <vector>

namespace stepscope {

// The stems of the files in data/machines, in their order; machine_named() takes each.
[[nodiscard]] std::vector<std::string_view> machine_stems();

}  // namespace stepscope
