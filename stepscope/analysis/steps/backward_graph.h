// SPDX-License-Identifier: Apache-2.0
// Which nodes of the backward graph compute a forward again (activation checkpointing).
//
// Operators of PyTorch's dispatcher ("aten::mm") have a sequence number only where gradients are
// recorded, so one inside a node belongs to a forward. A torch.autograd.Function always has a
// number, also where a node applies one as its own gradient (_AlltoAllSingle in
// _AlltoAllSingleBackward, _FromTorchTensor in _ToTorchTensorBackward). Alone it shows nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// What rows are in the backward graph, for one trace.
class BackwardGraph {
 public:
  BackwardGraph(const Trace& trace, const RankIndex& rank);

  // A node, or the engine's row around it.
  [[nodiscard]] bool is_node(std::uint32_t row) const;
  // An operator or Function with a sequence number that is no node and no collective: every
  // operator of the dispatcher that gets tensors while gradients are recorded has the number that
  // the next node would get, so c10d's have one without a backward.
  [[nodiscard]] bool is_differentiated(std::uint32_t row) const;
  // A node that computes a forward again.
  [[nodiscard]] bool recomputes(std::uint32_t row) const { return recomputes_[row]; }

 private:
  const Trace& trace_;
  std::vector<bool> names_node_;  // by StringId
  std::vector<bool> dispatched_;  // by StringId
  std::vector<bool> collective_;  // by StringId
  std::vector<bool> recomputes_;  // by slice
};

}  // namespace stepscope
