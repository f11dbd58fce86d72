// SPDX-License-Identifier: Apache-2.0
// The version of this build, as results name it.
#pragma once

#include <string_view>

namespace stepscope {

[[nodiscard]] std::string_view version();  // "0.1.0"

}  // namespace stepscope
