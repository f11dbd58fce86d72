// SPDX-License-Identifier: Apache-2.0
// The declared flags of a verb as help, man pages, completion and docs show them.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

inline constexpr const char* arguments_group = "Arguments";
inline constexpr const char* common_group = "Common flags";
inline constexpr const char* help_group = "Help";
inline constexpr std::size_t most_common_flags = 10;

struct FlagView {
  std::string name;        // "--steps"; of an argument "INPUT"
  std::string short_name;  // "-h", or empty
  std::string earlier;     // a name that it had before and still takes, or empty
  std::string value;       // "A:B", "FILE..."; empty: a switch, or an argument
  std::string what;        // the description
  std::string preset;      // the default, or empty
  bool argument = false;
  bool required = false;
  bool repeatable = false;                   // may stand several times
  std::vector<std::string> choices;          // literal values
  bool file = false;                         // a value may be a file
  bool directory = false;                    // likewise
  [[nodiscard]] std::string text() const;    // "-h, --help", "--steps A:B", "INPUT..."
  [[nodiscard]] std::string detail() const;  // the description, repetition and default
};

struct FlagGroup {
  std::string name;
  std::vector<FlagView> flags;
};

// Arguments, common flags, then the groups as they were declared, help last. Hidden flags are left
// out.
[[nodiscard]] std::vector<FlagGroup> flag_groups(const CLI::App& app);
// All of them in that order.
[[nodiscard]] std::vector<FlagView> flags_of(const CLI::App& app);

// "stepscope analyze INPUT... [flags]"
[[nodiscard]] std::string usage_of(const CLI::App& app);
// The commands of the app's footer, one a line.
[[nodiscard]] std::vector<std::string> examples_of(const CLI::App& app);

// Values that completion offers for flags of a type name, where no module below knows them.
void offer_values(const std::string& type, std::vector<std::string> values);

// The verb of that name, or null.
[[nodiscard]] const CLI::App* find_verb(const CLI::App& program, std::string_view name);

// Puts flags that have been declared under "Common flags".
void mark_common(CLI::App& app, std::initializer_list<const char*> names);

}  // namespace stepscope
