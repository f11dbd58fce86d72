// SPDX-License-Identifier: Apache-2.0
// Finds the file that defines each type. The modules share few namespaces. Two types with one name
// that never meet in a translation unit break the one-definition rule without a compiler error.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tests/tree/source_tree.h"

namespace stepscope::tree {

struct TypeName {
  std::string name;  // with all namespaces: "stepscope::zero::Plan"
  std::size_t line = 0;
  bool operator==(const TypeName&) const = default;
};

// Classes, structs, unions, enumerations and aliases that the file defines in named namespaces, or
// out of their class. Not those inside classes and functions, nor forward declarations.
[[nodiscard]] std::vector<TypeName> defined_types(const SourceFile& file);

// Names that two files define, one line for each file after the first.
[[nodiscard]] std::vector<std::string> types_defined_twice(std::span<const SourceFile> files);

}  // namespace stepscope::tree
