// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pickle. An accepted one is a tree with valid texts and items and without cycles,
// and it has no more nodes and items than the input has bytes.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/read/bytes/pickle.h"

namespace stepscope {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

// Visits each node once, however often it is shared.
void walk(const PlainTree& tree) {
  std::vector<bool> seen(tree.nodes.size(), false);
  std::vector<std::uint32_t> open = {tree.root};
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    expect(node < tree.nodes.size(), "an item is a node");
    if (seen[node]) continue;
    seen[node] = true;
    const PlainValue value(tree, node);
    if (const auto text = value.text()) expect(text->size() == tree.nodes[node].count, "a text");
    for (std::size_t i = 0; i < value.size(); ++i) {
      open.push_back(value[i].id());
      if (value.kind() == PlainKind::dict) open.push_back(value.key(i).id());
    }
    if (value.kind() == PlainKind::dict && value.size() > 0)
      if (const auto key = value.key(0).text()) expect(value.find(*key).has_value(), "a key");
  }
}

// Ends only if nothing contains itself. Bounded, because sharing can make the walk long.
std::size_t steps_down(const PlainValue& value, std::size_t depth, std::size_t left) {
  expect(value.kind() < PlainKind::list || depth <= deepest_pickle, "nesting is bounded");
  for (std::size_t i = 0; i < value.size() && left > 0; ++i)
    left = steps_down(value[i], depth + 1, left - 1);
  return left;
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)is_pickle(bytes);
  const auto tree = parse_pickle(bytes, "input");
  if (!tree) {
    expect(!tree.error().message().empty(), "an error says something");
    expect(!tree.error().byte || *tree.error().byte <= size, "an error is within the input");
    return 0;
  }
  expect(tree->nodes.size() <= size + 300, "nodes are bounded by the input");
  expect(tree->children.size() <= 2 * size, "items are bounded by the input");
  walk(*tree);
  (void)steps_down(tree->value(), 1, 10000);
  return 0;
}
