// SPDX-License-Identifier: Apache-2.0
// The work of one device in one micro-batch, operation by operation: a layer, the embedding before
// the first layer, the head after the last. All later results (time, memory, MFU) are sums of
// these. Derivations are in docs/dev/layer-operations.md and docs/dev/layouts.md.
//
// Letters: b sequences of s tokens, T = b s / cp tokens of a device; t = tp. Conventions and
// limits: - fused causal attention costs s^2 / 2 pairs, with a window w: w s - w^2 / 2;
// materialised scores
//   are all computed;
// - experts get equal shares of the tokens; without a capacity no token is dropped; - work once per
// step is not included: the reduction of gradients over data ranks, over tp for norms
//   under sequence parallelism, and of tied embeddings between the pipeline's ends; the sum of
//   micro-batches into the accumulated gradient; the optimizer.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/cost/layer/counting_conventions.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// REQUIRES for all: a model from a reader and a plan that check_plan accepts for it. `layer` counts
// from 0; it decides between experts and dense, window and whole sequence. Operations are in the
// order of the forward pass. Linear in the number of operations.
[[nodiscard]] std::vector<Operation> layer_operations(const Transformer& model, const Plan& plan,
                                                      std::int64_t layer,
                                                      const Counting& counting = {});

// Token (or patch), position and segment embeddings, their norm and dropout.
[[nodiscard]] std::vector<Operation> embedding_operations(const Transformer& model,
                                                          const Plan& plan,
                                                          const Counting& counting = {});

// Final norm, projection onto the vocabulary or the classes, and cross-entropy; without
// `model.head` only the norm. A tied projection has parameters of its own only if pp > 1.
[[nodiscard]] std::vector<Operation> head_operations(const Transformer& model, const Plan& plan,
                                                     const Counting& counting = {});

// One module of multi-token prediction: norms of both inputs, the projection, and its layers; and
// its norm, projection onto the vocabulary with the head's weights, and loss. The second lookup of
// the token table is not counted. REQUIRES: model.prediction.
[[nodiscard]] std::vector<Operation> prediction_operations(const Transformer& model,
                                                           const Plan& plan,
                                                           const Counting& counting = {});
[[nodiscard]] std::vector<Operation> prediction_head_operations(const Transformer& model,
                                                                const Plan& plan,
                                                                const Counting& counting = {});

// One layer of the encoder of images, and its ends: the projection of patches, positions, and the
// merger. They process the images of a micro-batch; without images those of a single token.
// REQUIRES: model.tower.
[[nodiscard]] std::vector<Operation> tower_layer_operations(const Transformer& model,
                                                            const Plan& plan,
                                                            const Counting& counting = {});
[[nodiscard]] std::vector<Operation> tower_end_operations(const Transformer& model,
                                                          const Plan& plan,
                                                          const Counting& counting = {});

// Rows of the embedding as trained: up to the next multiple of plan.kernels.vocabulary_multiple *
// tp.
[[nodiscard]] std::int64_t padded_vocabulary(const Transformer& model, const Plan& plan);

// Bytes per device that one layer passes to the next. Full recomputation keeps them for each layer,
// and a pipeline sends them.
[[nodiscard]] double layer_input_bytes(const Transformer& model, const Plan& plan);

}  // namespace stepscope
