// SPDX-License-Identifier: Apache-2.0
// What docs/reference/json.md promises, read from its tables and shapes, and held against what the
// program writes.
//
// A shape is a code span such as `{start_ns, notes{reason: count}, largest[] {wall_ns, culprit}}`:
// key, key{} for an object with keys of its own making, key[] for a list, and the shape of what is
// in either behind it; * stands for every key. A table's rows give key, type and, in the text,
// perhaps the shape. The document has a part for each schema, under a heading of the first level
// that names the command in a code span.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::contract {

struct Shape;

struct Member {
  std::string type;              // as the table's second column has it; empty = not said there
  bool list = false;             // key[]
  bool object = false;           // key{}
  std::shared_ptr<Shape> shape;  // of its value, or of its elements; null = free
};

struct Shape {
  std::map<std::string, Member> members;
};

// What stands under "# … `command` …" up to the next such heading. Throws where there is none.
[[nodiscard]] std::string part_of(const std::string& markdown, const std::string& command);

// The shape of one part. Throws std::runtime_error where the text is not as described.
[[nodiscard]] Shape read_contract(const std::string& part);

// One shape, as "{…}".
[[nodiscard]] Shape parse_shape(std::string_view text);

struct Comparison {
  std::vector<std::string> problems;  // a key missing, not documented, or of another kind
  std::set<std::string> seen;         // paths ("ranks.steps.index") whose value was not null
};
void compare(const Shape& shape, const nlohmann::json& value, Comparison& comparison);

// Every documented path.
[[nodiscard]] std::set<std::string> paths(const Shape& shape);

}  // namespace stepscope::contract
