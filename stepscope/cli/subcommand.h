// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line: one file and one line of the table each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "stepscope/cli/help/verb.h"

namespace stepscope {

[[nodiscard]] std::span<const Verb> verb_table();

// The program's flags and all verbs with theirs.
struct CommandLine {
  std::unique_ptr<CLI::App> app;
  std::vector<std::function<int()>> actions;  // one for each of verb_table()
};
// Help has lines of at most `width` columns.
[[nodiscard]] CommandLine declare_command_line(std::size_t width);

std::function<int()> declare_analyze(CLI::App& app);
std::function<int()> declare_whatif(CLI::App& app);
std::function<int()> declare_project(CLI::App& app);
std::function<int()> declare_predict(CLI::App& app);
std::function<int()> declare_plan(CLI::App& app);
std::function<int()> declare_train(CLI::App& app);
std::function<int()> declare_calibrate(CLI::App& app);
std::function<int()> declare_compare(CLI::App& app);
std::function<int()> declare_sweep(CLI::App& app);
std::function<int()> declare_runs(CLI::App& app);
std::function<int()> declare_check(CLI::App& app);
std::function<int()> declare_digest(CLI::App& app);
std::function<int()> declare_hang(CLI::App& app);
std::function<int()> declare_live(CLI::App& app);
std::function<int()> declare_memory(CLI::App& app);
std::function<int()> declare_stacks(CLI::App& app);
std::function<int()> declare_mcp(CLI::App& app);
std::function<int()> declare_help(CLI::App& app);
std::function<int()> declare_completion(CLI::App& app);
std::function<int()> declare_man(CLI::App& app);

}  // namespace stepscope
