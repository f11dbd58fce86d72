// SPDX-License-Identifier: Apache-2.0
// The layer table of ARCHITECTURE.md, and whether the tree keeps it. Each check returns the faults
// it found as lines to print; none means the tree is in order.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tree/source_tree.h"

namespace stepscope::tree {

struct Layer {
  int floor = 0;
  bool later = false;  // its place is fixed, its folder does not exist yet
  std::string folder;
  std::vector<std::string> may_include;  // "all below" is spelled out
};

// The rows `| floor | `folder/` | what | may include |` of a Markdown text.
[[nodiscard]] std::vector<Layer> parse_layers(std::string_view markdown);

// Arrows of the table that do not lead to a lower floor, or to no folder of it; folders named
// twice.
[[nodiscard]] std::vector<std::string> table_faults(std::span<const Layer> layers);

// Includes that no arrow of the table allows, that are not written from the root, and folders of
// the tree that the table does not name or calls later.
[[nodiscard]] std::vector<std::string> arrow_faults(std::span<const Layer> layers,
                                                    std::span<const SourceFile> files);

// The rooms `module/room` of the rows "| `module/room` | question |", in the table's order: those
// of a module bottom first.
[[nodiscard]] std::vector<std::string> parse_rooms(std::string_view markdown);

// Includes of a room further down the table, within a module; includes of a room in files that lie
// in the module's own folder, below its rooms; rooms of the tree that the table lacks, and rooms of
// the table that the tree lacks. Tests may include every room.
[[nodiscard]] std::vector<std::string> room_faults(std::span<const std::string> rooms,
                                                   std::span<const SourceFile> files);

// Pairs of header and source that reach themselves through the includes of either, one line a
// circle.
[[nodiscard]] std::vector<std::string> pair_circles(std::span<const SourceFile> files);

// Names that two headers have.
[[nodiscard]] std::vector<std::string> header_names_used_twice(std::span<const SourceFile> files);

// Folders with more stems (headers and sources, tests apart) than a reader takes in.
[[nodiscard]] std::vector<std::string> crowded_folders(std::span<const SourceFile> files,
                                                       std::size_t most);

// Folders that include each other.
[[nodiscard]] std::vector<std::string> two_way_pairs(std::span<const SourceFile> files);

// Files that reach themselves by includes, one line a circle.
[[nodiscard]] std::vector<std::string> include_circles(std::span<const SourceFile> files);

// Lines `stepscope_module(name USES ...)` of a CMake text that link what the table does not allow.
[[nodiscard]] std::vector<std::string> link_faults(std::span<const Layer> layers,
                                                   std::string_view cmake);

}  // namespace stepscope::tree
