// SPDX-License-Identifier: Apache-2.0
// What one device does in one micro-batch, operation by operation: a layer, the embedding before
// the first, the head after the last. Everything that follows (time, memory, MFU) is summed from
// these. Derivations are in docs/explanation/operations.md and docs/explanation/tensor-layouts.md.
//
// Letters: b sequences of s tokens, T = b s / cp tokens of a device; t = tp. Conventions and
// limits:
// - causal attention costs s^2 / 2 pairs where it is fused, window w: w s - w^2 / 2; materialised
//   scores are all computed;
// - experts get equal shares of the tokens; without a capacity none is dropped;
// - what happens once a step is not here: the reduction of gradients over data ranks, over tp for
//   norms under sequence parallelism, and of tied embeddings between the pipeline's ends; summing
//   micro-batches into the accumulated gradient; the optimizer.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/cost/layer/counting_conventions.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/parallelism.h"

namespace stepscope {

// REQUIRES for all: a model that a reader returned and a plan that check_plan accepts for it.
// `layer` counts from 0 and decides between experts and dense, window and whole sequence.
// In the order of the forward pass; linear in the number of operations.
[[nodiscard]] std::vector<Operation> layer_operations(const Transformer& model, const Plan& plan,
                                                      std::int64_t layer,
                                                      const Counting& counting = {});

// Token (or patch), position and segment embeddings, their norm and dropout.
[[nodiscard]] std::vector<Operation> embedding_operations(const Transformer& model,
                                                          const Plan& plan,
                                                          const Counting& counting = {});

// Final norm, projection onto the vocabulary or the classes, and cross-entropy; without
// `model.head` the norm alone. A tied projection has parameters of its own only where pp > 1.
[[nodiscard]] std::vector<Operation> head_operations(const Transformer& model, const Plan& plan,
                                                     const Counting& counting = {});

// Rows of the embedding as trained: up to the next multiple of plan.vocabulary_multiple * tp.
[[nodiscard]] std::int64_t padded_vocabulary(const Transformer& model, const Plan& plan);

// Bytes of what one layer hands to the next, on each device: what full recomputation keeps of a
// layer and what a pipeline sends.
[[nodiscard]] double layer_input_bytes(const Transformer& model, const Plan& plan);

}  // namespace stepscope
