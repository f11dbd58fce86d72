// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <vector>

#include "stepscope/face/help/verb.h"

namespace stepscope {

[[nodiscard]] std::span<const Verb> verb_table();

// The program's flags and all verbs with theirs.
struct CommandLine {
  std::unique_ptr<CLI::App> app;
  std::vector<VerbRun> runs;  // one for each of verb_table()
};
// Help has lines of at most `width` columns.
[[nodiscard]] CommandLine declare_command_line(std::size_t width);

}  // namespace stepscope
