// SPDX-License-Identifier: Apache-2.0
// Man pages (roff with the man macros) and the pages of flags in docs/reference.
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

// docs/reference/flags.md: all verbs, each with a link to the page of its flags.
[[nodiscard]] std::string flags_markdown(std::span<const Verb> verbs);

// flags/VERB.md next to it: all flags of a verb.
[[nodiscard]] std::string flags_markdown(const CLI::App& app, const Verb& verb);

}  // namespace stepscope
