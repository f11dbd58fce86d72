// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the known names nearest to an unknown one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stepscope {

// The three nearest of `known`, "a, b or c"; without those far behind a very near one. Names that
// begin with `name` come first, then names by letters to insert, delete or replace (Levenshtein).
// Ignores case and separators; compares the first 200 letters.
[[nodiscard]] std::string nearest_names(std::string_view name,
                                        std::span<const std::string_view> known);

}  // namespace stepscope
