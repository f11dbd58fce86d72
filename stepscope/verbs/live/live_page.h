// SPDX-License-Identifier: Apache-2.0
// The page that `stepscope live --serve` serves: it asks for state.json (live_json.h) every two
// seconds and draws it. It loads nothing from elsewhere.
#pragma once

#include <string_view>

namespace stepscope {

[[nodiscard]] std::string_view live_page();

}  // namespace stepscope
