// SPDX-License-Identifier: Apache-2.0
// Scripts with which shells complete verbs, flags, and values: words of a list, files, directories.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "stepscope/face/help/verb.h"

namespace stepscope {

// For share/bash-completion/completions/stepscope.
[[nodiscard]] std::string bash_completion(const CLI::App& program, std::span<const Verb> verbs);
// For share/zsh/site-functions/_stepscope.
[[nodiscard]] std::string zsh_completion(const CLI::App& program, std::span<const Verb> verbs);
// For share/fish/vendor_completions.d/stepscope.fish.
[[nodiscard]] std::string fish_completion(const CLI::App& program, std::span<const Verb> verbs);

}  // namespace stepscope
