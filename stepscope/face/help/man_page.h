// SPDX-License-Identifier: Apache-2.0
// Man pages (roff with the man macros) and the page docs/reference/flags.md.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/face/help/verb.h"

namespace stepscope {

// stepscope.1 where `app` has no parent, else stepscope-VERB.1. `verbs` are the parent's.
[[nodiscard]] std::string man_page(const CLI::App& app, std::span<const Verb> verbs,
                                   std::string_view version);

// All verbs with all flags and the exit codes, as Markdown.
[[nodiscard]] std::string flags_markdown(const CLI::App& program, std::span<const Verb> verbs);

}  // namespace stepscope
