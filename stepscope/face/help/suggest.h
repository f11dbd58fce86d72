// SPDX-License-Identifier: Apache-2.0
// "Did you mean": what is said of a verb or a flag that does not exist.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// Letters to insert, delete, replace or swap with the next.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The names in `known` that `name` may stand for, at most three, the nearest first: few letters
// differ, or one is the other's beginning.
[[nodiscard]] std::vector<std::string> likely_names(std::string_view name,
                                                    std::span<const std::string> known);

// One sentence and its remedy, as "there is no verb analyse; did you mean analyze?".
[[nodiscard]] std::string unknown_verb(const CLI::App& program, std::string_view name);
// Also where another verb has the flag: "analyze has no flag --gpus; it is a flag of plan and
// predict".
[[nodiscard]] std::string unknown_flag(const CLI::App& verb, std::string_view flag);

}  // namespace stepscope
