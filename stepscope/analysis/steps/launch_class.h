// SPDX-License-Identifier: Apache-2.0
// The class of kernels from what launched them. The rules of names (event/name_rules.h) classify
// most kernels. The operator around the launch decides if a name tells no class, or tells only the
// form of the work:
//
// | the kernel's name says | the operator says | class |
// |---|---|---|
// | nothing (`other`) | any class but communication, wait and other | the operator's |
// | `reduction`, `softmax` | matmul or attention | the operator's: a part of the product, as the
// sum of split-K | | `reduction`, `elementwise`, `copy` or `other` | quantize or routing | the
// operator's | | anything else | anything | the name's: a layout copy or a bias beside a product is
// no product |
//
// The operator is the innermost one with a class around the launch call. Operators around it count
// only for the classes whose helpers belong to them (attention, norm, softmax, quantize, routing,
// optimizer, embedding, loss), and only where no operator between says more: the sum of a bias's
// gradient inside AddmmBackward is no product. A user's annotation counts for the optimizer alone,
// and nothing counts for the kernels of a CUDA graph.
//
// The shape of a launch (grid, block, registers, shared memory) is no evidence: it does not tell
// matrix products from attention, nor either from a fused kernel.
#pragma once

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Changes Slices::kind of kernels. O(rows of the host) if a kernel's class is open.
void classify_by_launch(Trace& trace, const RankIndex& rank);

}  // namespace stepscope
