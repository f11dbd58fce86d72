// SPDX-License-Identifier: Apache-2.0
// A weighted call tree. It is built from stacks while a profile is read, then sealed into columns
// in preorder. A frame is its text (a StringId of the profile's pool).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stepscope/base/string_pool.h"

namespace stepscope {

// The sealed tree. Node 0 is the root with an empty frame. The subtree of node n is [n, end[n]).
// Siblings are in descending order of their totals, equal ones in order of first appearance.
struct CallTree {
  std::vector<StringId> frame;
  std::vector<std::uint32_t> parent;  // of the root: 0
  std::vector<std::uint32_t> end;
  std::vector<double> self;   // weight of stacks that end here
  std::vector<double> total;  // including everything called from here

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(frame.size()); }
};

// Merges stacks into a tree. Memory grows only with the number of distinct nodes, at most
// `max_nodes`. Beyond that a stack counts at the node where it leaves the tree, and left_off()
// counts such stacks.
class TreeBuilder {
 public:
  static constexpr std::uint32_t root = 0;
  explicit TreeBuilder(std::uint32_t max_nodes = 1U << 26);

  // The node of `frame` called from `parent`. It is created if it is new; once full, this is
  // `parent`.
  std::uint32_t child(std::uint32_t parent, StringId frame);
  void add(std::uint32_t node, double weight) { nodes_[node].self += weight; }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] StringId frame(std::uint32_t node) const { return nodes_[node].frame; }
  [[nodiscard]] std::uint32_t parent(std::uint32_t node) const { return nodes_[node].parent; }
  [[nodiscard]] double self(std::uint32_t node) const { return nodes_[node].self; }
  [[nodiscard]] std::uint64_t left_off() const { return left_off_; }
  // Element i of `place`, if given, receives the sealed number of node i.
  [[nodiscard]] CallTree seal(std::vector<std::uint32_t>* place = nullptr) const;

 private:
  struct Node {
    StringId frame{};
    std::uint32_t parent = 0;
    double self = 0;
  };
  struct Slot {
    std::uint64_t key = 0;   // parent and frame
    std::uint32_t node = 0;  // 0 = free: the root is never a child
  };
  void grow();

  std::vector<Node> nodes_;
  std::vector<Slot> slots_;
  std::uint32_t max_nodes_;
  std::uint64_t left_off_ = 0;
};

}  // namespace stepscope
