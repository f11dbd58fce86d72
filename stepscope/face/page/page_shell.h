// SPDX-License-Identifier: Apache-2.0
// The bytes of face/page/ (page.html with its styles and scripts in place) before and after the
// data. Defined in a file that face/page/embed.cmake writes into the build directory.
#pragma once

#include <string_view>

namespace stepscope {

[[nodiscard]] std::string_view page_before_data();
[[nodiscard]] std::string_view page_after_data();

}  // namespace stepscope
