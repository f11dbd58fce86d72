// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/plain_value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "stepscope/base/result.h"

namespace stepscope {

std::string_view name_of(PlainKind kind) {
  constexpr std::array<std::string_view, 9> names = {"none",  "bool", "int",   "float", "text",
                                                     "bytes", "list", "tuple", "dict"};
  return names[static_cast<std::size_t>(kind)];
}

PlainValue PlainTree::value() const { return {*this, root}; }

std::optional<bool> PlainValue::boolean() const {
  if (kind() != PlainKind::boolean) return std::nullopt;
  return node().word != 0;
}

std::optional<double> PlainValue::real() const {
  if (kind() == PlainKind::real) return std::bit_cast<double>(node().word);
  if (const auto whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

std::optional<std::string_view> PlainValue::text() const {
  if (kind() != PlainKind::text && kind() != PlainKind::bytes) return std::nullopt;
  return std::string_view(tree_->text).substr(node().word, node().count);
}

std::optional<PlainValue> PlainValue::find(std::string_view wanted) const {
  if (kind() != PlainKind::dict) return std::nullopt;
  for (std::size_t i = size(); i-- > 0;)
    if (key(i).text() == wanted) return (*this)[i];
  return std::nullopt;
}

// Depth first, each node once. The path is never longer than the allowed nesting.
std::string nesting_problem(const PlainTree& tree, std::size_t deepest) {
  struct Open {
    std::uint32_t node;
    std::uint64_t next;
    std::uint64_t end;
  };
  constexpr std::uint8_t on_the_way = 255;
  check(deepest < on_the_way, "the depth of a tree fits its byte");
  std::vector<std::uint8_t> depth(tree.nodes.size(), 0);  // depth of the content, once known
  std::vector<Open> way;
  const auto has_items = [&](std::uint32_t n) { return tree.nodes[n].kind >= PlainKind::list; };
  const auto open = [&](std::uint32_t n) {
    const PlainNode& node = tree.nodes[n];
    const std::uint64_t items = std::uint64_t{node.count} * (node.kind == PlainKind::dict ? 2 : 1);
    way.push_back({.node = n, .next = node.word, .end = node.word + items});
    depth[n] = on_the_way;
  };
  if (has_items(tree.root)) open(tree.root);
  std::uint8_t below = 0;  // depth of the node that was just left
  while (!way.empty()) {
    Open& top = way.back();
    if (top.next == top.end) {
      below = 1;
      const PlainNode& node = tree.nodes[top.node];
      for (std::uint64_t c = node.word; c < top.end; ++c)
        below =
            std::max<std::uint8_t>(below, static_cast<std::uint8_t>(depth[tree.children[c]] + 1));
      depth[top.node] = below;
      way.pop_back();
      continue;
    }
    const std::uint32_t child = tree.children[top.next++];
    if (!has_items(child)) continue;
    if (depth[child] == on_the_way) return "a value that contains itself";
    if (way.size() + std::max<std::size_t>(depth[child], 1) > deepest)
      return "nested deeper than " + std::to_string(deepest);
    if (depth[child] == 0) open(child);
  }
  return {};
}

}  // namespace stepscope
