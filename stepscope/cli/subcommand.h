// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line: one file and one line of the table each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string_view>

namespace stepscope {

// DESIGN: "The command line".
enum ExitCode : int {
  exit_done = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_regression = 3,
  exit_interrupted = 130
};

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  // Declares flags on `app`; returns what to do once they are parsed.
  std::function<int()> (*declare)(CLI::App& app);
};

[[nodiscard]] std::span<const Subcommand> subcommands();

// Parses, runs, returns the exit code. Never throws.
[[nodiscard]] int run_command_line(int argc, char** argv);

std::function<int()> declare_analyze(CLI::App& app);
std::function<int()> declare_whatif(CLI::App& app);
std::function<int()> declare_predict(CLI::App& app);
std::function<int()> declare_plan(CLI::App& app);
std::function<int()> declare_train(CLI::App& app);
std::function<int()> declare_calibrate(CLI::App& app);
std::function<int()> declare_compare(CLI::App& app);
std::function<int()> declare_sweep(CLI::App& app);
std::function<int()> declare_check(CLI::App& app);
std::function<int()> declare_hang(CLI::App& app);
std::function<int()> declare_memory(CLI::App& app);
std::function<int()> declare_stacks(CLI::App& app);

}  // namespace stepscope
