// SPDX-License-Identifier: Apache-2.0
// A call tree with weights: built from stacks while a profile is read, then sealed into columns in
// preorder. A frame is its text (a StringId of the profile's pool).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stepscope/base/string_pool.h"

namespace stepscope {

// Sealed: node 0 is the root, whose frame is empty; a node's subtree is [n, end[n]); siblings stand
// in descending order of their totals, equal ones in the order in which they first came.
struct CallTree {
  std::vector<StringId> frame;
  std::vector<std::uint32_t> parent;  // of the root: 0
  std::vector<std::uint32_t> end;
  std::vector<double> self;   // weight of stacks that end here
  std::vector<double> total;  // with everything called from here

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(frame.size()); }
};

// Merges stacks into a tree. Memory grows with the number of distinct nodes only, at most
// `max_nodes`: beyond it a stack counts where it leaves the tree, and left_off() counts such
// stacks.
class TreeBuilder {
 public:
  static constexpr std::uint32_t root = 0;
  explicit TreeBuilder(std::uint32_t max_nodes = 1U << 26);

  // The node of `frame` called from `parent`, made where it is new; `parent` itself once full.
  std::uint32_t child(std::uint32_t parent, StringId frame);
  void add(std::uint32_t node, double weight) { nodes_[node].self += weight; }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] StringId frame(std::uint32_t node) const { return nodes_[node].frame; }
  [[nodiscard]] std::uint32_t parent(std::uint32_t node) const { return nodes_[node].parent; }
  [[nodiscard]] double self(std::uint32_t node) const { return nodes_[node].self; }
  [[nodiscard]] std::uint64_t left_off() const { return left_off_; }
  // Adds all of `other` below `under`; its frames are renamed by `frames`, its weights multiplied.
  // Element i is the node here of its node i.
  std::vector<std::uint32_t> graft(const TreeBuilder& other, std::uint32_t under,
                                   const std::vector<StringId>& frames, double factor);

  // Element i of `place`, if given, is the sealed number of node i.
  [[nodiscard]] CallTree seal(std::vector<std::uint32_t>* place = nullptr) const;

 private:
  struct Node {
    StringId frame{};
    std::uint32_t parent = 0;
    double self = 0;
  };
  struct Slot {
    std::uint64_t key = 0;   // parent and frame
    std::uint32_t node = 0;  // 0 = free: the root is nobody's child
  };
  void grow();

  std::vector<Node> nodes_;
  std::vector<Slot> slots_;
  std::uint32_t max_nodes_;
  std::uint64_t left_off_ = 0;
};

}  // namespace stepscope
