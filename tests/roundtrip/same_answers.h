// SPDX-License-Identifier: Apache-2.0
// Compares two answers of `analyze`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stepscope::roundtrip {

// The differences, at most `limit` lines "path: left | right". The names of the files and the
// source of rank numbers are ignored. Numbers that are not integers may differ by a relative 1e-9.
[[nodiscard]] std::vector<std::string> differences(const nlohmann::json& left,
                                                   const nlohmann::json& right,
                                                   std::size_t limit = 20);

// The answer without what belongs to the files and not to the traces in them: path, bytes and
// text_bytes of its inputs.
[[nodiscard]] nlohmann::json without_file_sizes(nlohmann::json answer);

}  // namespace stepscope::roundtrip
