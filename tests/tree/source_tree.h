// SPDX-License-Identifier: Apache-2.0
// The source tree as the tests of its order see it: files, their lines, and what they include.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::tree {

// An #include "..." line: of the project, never of the system.
struct Include {
  std::string path;  // as written: "stepscope/event/trace.h"
  std::size_t line = 0;
};

struct SourceFile {
  std::string path;  // from the root of the tree: "stepscope/event/trace.h"
  std::vector<std::string> lines;
  std::vector<Include> includes;
};

[[nodiscard]] SourceFile parse_source(std::string path, std::string_view text);

// All *.h and *.cc below root/stepscope, by path.
[[nodiscard]] std::vector<SourceFile> read_source_tree(const std::filesystem::path& root);

[[nodiscard]] std::string read_text(const std::filesystem::path& file);

// "event" of "stepscope/event/trace.h"; empty for a path that is not in a folder of stepscope/.
[[nodiscard]] std::string_view folder_of(std::string_view path);

// "analysis/steps" of "stepscope/analysis/steps/steps.h"; "event" of "stepscope/event/trace.h".
[[nodiscard]] std::string_view room_of(std::string_view path);

// Characters, not bytes, of a line of UTF-8.
[[nodiscard]] std::size_t columns(std::string_view line);

}  // namespace stepscope::tree
