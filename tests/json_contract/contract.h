// SPDX-License-Identifier: Apache-2.0
// The contract in the pages of docs/reference/json.md, read from their tables and shapes, and
// compared with the program's output.
//
// A shape is a code span such as `{start_ns, notes{reason: count}, largest[] {wall_ns, culprit}}`:
// key, key{} for an object with dynamic keys, key[] for a list, each followed by the shape of its
// content; * matches every key. The rows of a table give key, type and, possibly in the text, the
// shape. A section under "## `key`" describes the value of a key, one under "## `key.inner`" that
// of a key in it. A page has one part per schema, under a heading of the first level with the
// command in a code span.
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
  std::string type;              // second column of the table; empty = not given
  bool list = false;             // key[]
  bool object = false;           // key{}
  std::shared_ptr<Shape> shape;  // of its value, or of its elements; null = free
};

struct Shape {
  std::map<std::string, Member> members;
};

// The text under "# … `command` …" up to the next such heading. Throws without such a heading.
[[nodiscard]] std::string part_of(const std::string& markdown, const std::string& command);

// The shape of one part. Throws std::runtime_error if the text does not have this form.
[[nodiscard]] Shape read_contract(const std::string& part);

// One shape, as "{…}".
[[nodiscard]] Shape parse_shape(std::string_view text);

struct Comparison {
  std::vector<std::string> problems;  // a key that is missing, not documented, or of another type
  std::set<std::string> seen;         // paths ("ranks.steps.index") with a value that was not null
};
void compare(const Shape& shape, const nlohmann::json& value, Comparison& comparison);

// Every documented path.
[[nodiscard]] std::set<std::string> paths(const Shape& shape);

}  // namespace stepscope::contract
