// SPDX-License-Identifier: Apache-2.0
// The source tree for these tests: files, their lines, and their includes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::tree {

// A line #include "..." of a project file, never of a system file.
struct Include {
  std::string path;  // as written: "stepscope/event/trace.h"
  std::size_t line = 0;
};

struct SourceFile {
  std::string path;  // relative to the root: "stepscope/event/trace.h"
  std::vector<std::string> lines;
  std::vector<Include> includes;
};

[[nodiscard]] SourceFile parse_source(std::string path, std::string_view text);

// All *.h and *.cc below root/stepscope and root/engine, by path.
[[nodiscard]] std::vector<SourceFile> read_source_tree(const std::filesystem::path& root);

[[nodiscard]] std::string read_text(const std::filesystem::path& file);

// "event" for "stepscope/event/trace.h", "nn" for "engine/nn/kernels/gelu.h"; empty for a path
// outside the folders of these trees.
[[nodiscard]] std::string_view folder_of(std::string_view path);

// "analysis/steps" for "stepscope/analysis/steps/steps.h"; "event" for "stepscope/event/trace.h".
[[nodiscard]] std::string_view room_of(std::string_view path);

// The number of characters, not bytes, in a line of UTF-8.
[[nodiscard]] std::size_t columns(std::string_view line);

}  // namespace stepscope::tree
