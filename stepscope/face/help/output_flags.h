// SPDX-License-Identifier: Apache-2.0
// Which files a verb writes besides what it prints.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace stepscope {

// Files that a verb writes besides what it prints; empty: none. JSON goes to standard output where
// its path is "-", and nothing else does then.
struct OutputPaths {
  std::string json{};
  std::string html{};
  std::string csv{};  // a directory

  [[nodiscard]] bool prints() const { return json != "-"; }
  [[nodiscard]] bool has_tree() const { return !json.empty() || !html.empty(); }
};
// --json, --html and --csv, in the group "Outputs".
void declare_json(CLI::App& app, std::string& path);
void declare_html(CLI::App& app, std::string& path);
void declare_csv(CLI::App& app, std::string& directory);
// --chakra and --goal, in the same group.
void declare_programs(CLI::App& app, std::string& chakra, std::string& goal);

}  // namespace stepscope
