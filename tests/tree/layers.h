// SPDX-License-Identifier: Apache-2.0
// The layer table of ARCHITECTURE.md, and checks that the tree follows it. Each check returns the
// faults as lines to print; none means that the tree is in order.
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
  std::vector<std::string> may_include;  // "all below" is expanded
};

// The rows `| floor | `folder/` | what | may include |` of a Markdown text.
[[nodiscard]] std::vector<Layer> parse_layers(std::string_view markdown);

// Arrows of the table that lead to no lower floor or to an unknown folder; folders that are named
// twice.
[[nodiscard]] std::vector<std::string> table_faults(std::span<const Layer> layers);

// Includes that the table does not allow or that are not relative to the root, and folders of the
// tree that the table does not name or marks as later.
[[nodiscard]] std::vector<std::string> arrow_faults(std::span<const Layer> layers,
                                                    std::span<const SourceFile> files);

// The rooms `module/room` of the rows "| `module/room` | question |" in the table's order, which is
// bottom first within a module.
[[nodiscard]] std::vector<std::string> parse_rooms(std::string_view markdown);

// Files of stepscope/ that include the engine's headers or files of `faces` (paths in stepscope/
// without suffix), and are no such files or their tests.
[[nodiscard]] std::vector<std::string> engine_faults(std::span<const std::string> faces,
                                                     std::span<const SourceFile> files);

// The words of a CMake list: those of "set(NAME word word)".
[[nodiscard]] std::vector<std::string> cmake_list(std::string_view cmake, std::string_view name);

// Includes of a room further down the table, within a module; a room and the files of the module's
// own folder that include each other; rooms of the tree that the table lacks, and the reverse.
// Tests may include every room.
[[nodiscard]] std::vector<std::string> room_faults(std::span<const std::string> rooms,
                                                   std::span<const SourceFile> files);

// Pairs of header and source that reach themselves through the includes of either, one line per
// circle.
[[nodiscard]] std::vector<std::string> pair_circles(std::span<const SourceFile> files);

// Names that two headers share.
[[nodiscard]] std::vector<std::string> header_names_used_twice(std::span<const SourceFile> files);

// Folders with more than `most` stems (headers and sources, without tests).
[[nodiscard]] std::vector<std::string> crowded_folders(std::span<const SourceFile> files,
                                                       std::size_t most);

// Constants of sources with the name of a constant of a header. Sources of a room are compiled as
// one file, where such a constant hides the header's from all sources behind it.
[[nodiscard]] std::vector<std::string> hidden_constants(std::span<const SourceFile> files);

// Folders that include each other.
[[nodiscard]] std::vector<std::string> two_way_pairs(std::span<const SourceFile> files);

// Files that reach themselves by includes, one line per circle.
[[nodiscard]] std::vector<std::string> include_circles(std::span<const SourceFile> files);

// Lines `stepscope_module(name USES ...)` of a CMake text that link a module against the table.
[[nodiscard]] std::vector<std::string> link_faults(std::span<const Layer> layers,
                                                   std::string_view cmake);

}  // namespace stepscope::tree
