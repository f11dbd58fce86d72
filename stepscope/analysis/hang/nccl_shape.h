// SPDX-License-Identifier: Apache-2.0
// How NCCL joined the ranks of a communicator: the ring and the tree of each channel, from its
// log. Channels of one order or one shape are one entry. Ranks are those of the communicator.
#pragma once

#include <cstddef>
#include <vector>

#include "stepscope/event/nccl_setup.h"

namespace stepscope {

struct NcclRing {
  std::vector<int> channels{};  // ascending
  std::vector<int> order{};     // each rank sends to the next
  bool whole = false;           // has every rank once, and the last sends to the first
  bool operator==(const NcclRing&) const = default;
};

struct NcclTreeRank {
  int rank = 0;
  int up = -1;              // -1: a root
  std::vector<int> down{};  // ascending
  bool operator==(const NcclTreeRank&) const = default;
};

struct NcclTree {
  std::vector<int> channels{};        // ascending
  std::vector<NcclTreeRank> ranks{};  // ascending; those whose process logged its place
  bool whole = false;                 // has every rank, and one root leads to all
  bool operator==(const NcclTree&) const = default;
};

struct NcclShape {
  std::vector<NcclRing> rings{};  // by first channel
  std::vector<NcclTree> trees{};  // by first channel
  // Channels whose lines are damaged, or of whose ranks two contradict each other.
  std::size_t unclear_rings = 0;
  std::size_t unclear_trees = 0;
  bool operator==(const NcclShape&) const = default;
};

// NCCL writes the first 20 ranks of a ring in one line ("Channel 00/02 : 0 1 2 3"). More are known
// if every rank wrote a line of its own ("Ring 00 : 3 -> 0 -> 1").
[[nodiscard]] NcclShape nccl_shape(const LoggedCommunicator& communicator);

}  // namespace stepscope
