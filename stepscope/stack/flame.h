// SPDX-License-Identifier: Apache-2.0
// A call tree small enough to be drawn: of one profile, or of two side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/stack/phases_of.h"
#include "stepscope/stack/profile.h"

namespace stepscope {

// In preorder, siblings with the largest first. Node 0 is all; its children are threads.
struct FlameGraph {
  std::vector<std::string> labels;   // distinct texts of nodes
  std::vector<std::uint32_t> label;  // of each node, in `labels`
  std::vector<std::uint32_t> parent;
  std::vector<double> self;
  std::vector<double> total;         // what is left out below a node still counts in it
  std::vector<double> before;        // total in the profile compared with; empty without one
  std::vector<std::uint16_t> phase;  // of the node as a part of stacks
  std::vector<std::uint8_t> pass;
  std::uint64_t left_out = 0;  // nodes too small to be drawn

  [[nodiscard]] std::size_t size() const { return label.size(); }
};

// A frame's text for people.
[[nodiscard]] std::string frame_words(const Profile& profile, const NodePhases& phases,
                                      StringId frame);

// The largest nodes, at most `most`.
[[nodiscard]] FlameGraph flame_graph(const Profile& profile, const NodePhases& phases,
                                     std::size_t most);

// Both profiles in one tree; frames are the same where function and file are, threads where their
// names are but for addresses and numbers of processes. The weights of `before` are multiplied so
// that both shown totals are equal: what changed is the share.
struct FlameDifference {
  FlameGraph graph;  // total: now; before: then, on the scale of now
  double scale = 1;  // what the weights of `before` were multiplied by
};
[[nodiscard]] FlameDifference flame_difference(const Profile& now, const NodePhases& now_phases,
                                               const Profile& before,
                                               const NodePhases& before_phases, std::size_t most);

// What stays the same in two runs: "Thread 0x7f12 \"MainThread\"" is "MainThread", "python-12/34"
// is "python".
[[nodiscard]] std::string lasting_thread_name(const std::string& name);

}  // namespace stepscope
