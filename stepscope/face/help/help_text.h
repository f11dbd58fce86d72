// SPDX-License-Identifier: Apache-2.0
// What `stepscope --help` and `stepscope VERB --help` print.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>

#include "stepscope/face/help/verb.h"

namespace stepscope {

// The help of the whole program where `app` has no parent, else of a verb. `verbs` are the
// parent's.
[[nodiscard]] std::string help_text(const CLI::App& app, std::span<const Verb> verbs,
                                    std::size_t width);

// Makes --help of an app and of the verbs that are added to it later print that. `verbs` live as
// long as the program.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_formatter(std::span<const Verb> verbs,
                                                                 std::size_t width);

// Lines of at most `width` columns, broken at spaces; UTF-8 characters count as one column.
[[nodiscard]] std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width);
// A command on as many lines as it takes, with " \" at their ends; words in quotes stay whole.
[[nodiscard]] std::vector<std::string> wrapped_command(std::string_view command, std::size_t width);

}  // namespace stepscope
