// SPDX-License-Identifier: Apache-2.0
// A call tree that is small enough to draw, of one profile or of two in comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/stack/phases_of.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

// Nodes in preorder, siblings with the largest first. Node 0 is the whole; its children are
// threads.
struct FlameGraph {
  std::vector<std::string> labels;   // distinct texts of nodes
  std::vector<std::uint32_t> label;  // of each node, in `labels`
  std::vector<std::uint32_t> parent;
  std::vector<double> self;
  std::vector<double> total;         // includes nodes left out below
  std::vector<double> before;        // total in the compared profile; empty without one
  std::vector<std::uint16_t> phase;  // phase of the node, by its place in stacks
  std::vector<std::uint8_t> pass;
  std::uint64_t left_out = 0;  // nodes too small to draw

  [[nodiscard]] std::size_t size() const { return label.size(); }
};

// The text of a frame for display.
[[nodiscard]] std::string frame_words(const Profile& profile, const NodePhases& phases,
                                      StringId frame);

// Keeps the largest nodes, at most `most`.
[[nodiscard]] FlameGraph flame_graph(const Profile& profile, const NodePhases& phases,
                                     std::size_t most);

// Both profiles in one tree. Frames are equal if function and file are; threads if their names are,
// without addresses and process numbers. The weights of `before` are scaled so that both shown
// totals are equal, so a difference is one of shares.
struct FlameDifference {
  FlameGraph graph;  // total: this profile; before: the earlier one, scaled
  double scale = 1;  // factor for the weights of `before`
};
[[nodiscard]] FlameDifference flame_difference(const Profile& now, const NodePhases& now_phases,
                                               const Profile& before,
                                               const NodePhases& before_phases, std::size_t most);

// The part of a thread's name that does not change between runs: "Thread 0x7f12 \"MainThread\""
// becomes "MainThread", "python-12/34" becomes "python".
[[nodiscard]] std::string lasting_thread_name(const std::string& name);

}  // namespace stepscope
