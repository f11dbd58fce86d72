// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/call_tree.h"

#include <algorithm>
#include <numeric>

namespace stepscope {
namespace {

std::uint64_t key_of(std::uint32_t parent, StringId frame) {
  return static_cast<std::uint64_t>(parent) << 32 | index(frame);
}

std::size_t place_of(std::uint64_t key, std::size_t mask) {
  constexpr std::uint64_t k = 0x9E3779B97F4A7C15ULL;
  return static_cast<std::size_t>((key * k) >> 24) & mask;
}

}  // namespace

TreeBuilder::TreeBuilder(std::uint32_t max_nodes)
    : nodes_(1), slots_(64), max_nodes_(std::max(max_nodes, 1U)) {}

std::uint32_t TreeBuilder::child(std::uint32_t parent, StringId frame) {
  const std::uint64_t key = key_of(parent, frame);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = place_of(key, mask);
  for (; slots_[at].node != 0; at = (at + 1) & mask)
    if (slots_[at].key == key) return slots_[at].node;
  if (nodes_.size() >= max_nodes_) {
    ++left_off_;
    return parent;
  }
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({frame, parent, 0});
  slots_[at] = {key, node};
  if (2 * nodes_.size() > slots_.size()) grow();
  return node;
}

void TreeBuilder::grow() {
  std::vector<Slot> larger(2 * slots_.size());
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.node == 0) continue;
    std::size_t at = place_of(slot.key, mask);
    while (larger[at].node != 0) at = (at + 1) & mask;
    larger[at] = slot;
  }
  slots_ = std::move(larger);
}

CallTree TreeBuilder::seal(std::vector<std::uint32_t>* place) const {
  const std::size_t n = nodes_.size();
  std::vector<double> total(n);
  for (std::size_t i = n; i-- > 0;) {
    total[i] += nodes_[i].self;
    if (i > 0) total[nodes_[i].parent] += total[i];
  }
  // Siblings are adjacent, largest first. A parent always has a smaller number than its children.
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin() + 1, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (nodes_[a].parent != nodes_[b].parent) return nodes_[a].parent < nodes_[b].parent;
    if (total[a] != total[b]) return total[a] > total[b];
    return a < b;
  });
  std::vector<std::uint32_t> first(n + 1);
  for (std::size_t i = 1; i < n; ++i) ++first[nodes_[order[i]].parent + 1];
  first[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) first[i] += first[i - 1];
  CallTree tree;
  for (auto* column : {&tree.parent, &tree.end}) column->resize(n);
  for (auto* column : {&tree.self, &tree.total}) column->resize(n);
  tree.frame.resize(n);
  std::vector<std::uint32_t> number(n);
  struct Open {
    std::uint32_t node;  // number in this builder
    std::uint32_t next;  // in `order`
  };
  std::vector<Open> open;
  std::uint32_t made = 0;
  const auto enter = [&](std::uint32_t node, std::uint32_t parent) {
    number[node] = made;
    tree.frame[made] = nodes_[node].frame;
    tree.parent[made] = parent;
    tree.self[made] = nodes_[node].self;
    tree.total[made] = total[node];
    ++made;
    open.push_back({node, first[node]});
  };
  enter(0, 0);
  while (!open.empty()) {
    const std::uint32_t node = open.back().node;
    if (open.back().next < first[node + 1]) {
      enter(order[open.back().next++], number[node]);
    } else {
      tree.end[number[node]] = made;
      open.pop_back();
    }
  }
  if (place != nullptr) *place = std::move(number);
  return tree;
}

}  // namespace stepscope
