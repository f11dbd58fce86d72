// SPDX-License-Identifier: Apache-2.0
// Which file defines which type. The modules share few namespaces, and two types of one name that
// never meet in a translation unit break the one-definition rule without a word of the compiler.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tests/tree/source_tree.h"

namespace stepscope::tree {

struct TypeName {
  std::string name;  // from its outermost namespace: "stepscope::zero::Plan"
  std::size_t line = 0;
  bool operator==(const TypeName&) const = default;
};

// Classes, structs, unions, enumerations and aliases that the file defines in namespaces that have
// a name, or out of their class. Not those inside classes and functions, nor forward declarations.
[[nodiscard]] std::vector<TypeName> defined_types(const SourceFile& file);

// Names that two files define, a line for each file after the first.
[[nodiscard]] std::vector<std::string> types_defined_twice(std::span<const SourceFile> files);

}  // namespace stepscope::tree
