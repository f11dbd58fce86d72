// SPDX-License-Identifier: Apache-2.0
// Whether two answers of `analyze` say the same.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stepscope::roundtrip {

// What differs, at most `limit` lines "path: left | right". The files that were read are left out,
// and where a rank's number came from; numbers that are no integers may differ by 1e-9 of
// themselves.
[[nodiscard]] std::vector<std::string> differences(const nlohmann::json& left,
                                                   const nlohmann::json& right,
                                                   std::size_t limit = 20);

}  // namespace stepscope::roundtrip
