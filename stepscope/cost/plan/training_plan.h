// SPDX-License-Identifier: Apache-2.0
// How a model is trained on a number of devices: every degree of parallelism, the batch, and which
// state is kept, recomputed, offloaded or overlapped. The degrees multiply to the devices: tp * cp
// * pp * dp (experts are divided over ep of the cp * dp ranks); a sequence degree that does not
// divide tp takes more devices (tensor_grid.h). Rank order, fastest first: tp, cp, dp, pp, as in
// Megatron.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/model/tower.h"
#include "stepscope/cost/model/trained_parts.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/kernel_plan.h"
#include "stepscope/cost/plan/memory_plan.h"
#include "stepscope/cost/plan/parallelism.h"

namespace stepscope {

struct BatchSizes {
  std::int64_t sequence = 2048;
  std::int64_t images = 0;         // of a sequence, if the model has a tower
  std::int64_t image_patches = 0;  // of one image, before the tower merges them
  std::int64_t micro = 1;          // sequences per pass on one dp rank
  std::int64_t global = 1;         // sequences per optimizer step
  bool reduce_each_micro = false;  // gradients are reduced after every pass, not each step
};

struct Plan {
  std::int64_t devices = 1;
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  ContextExchange context_exchange = ContextExchange::all_gather;
  std::int64_t ep = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  int zero = 0;  // stage 0, 1, 2, 3
  // Hybrid sharding: states are sharded over this many of the dp * cp ranks that hold the same
  // weights, and replicated beyond. 0: sharded over all.
  std::int64_t shard_group = 0;
  // ZeRO-3: backward gathers parameters within this many neighbouring ranks, which keep a second
  // copy of them for it (hpZ of ZeRO++). 0: it gathers as forward does.
  std::int64_t secondary_group = 0;
  TensorDivision tensor{};
  ExpertDivision experts{};
  PipelineDivision pipeline{};
  BatchSizes batch{};
  MemoryPlan memory{};
  Kernels kernels{};
  Overlaps overlap{};
  Precision precision{};
  TrainedParts trained{};  // all weights, or adapters, or all but frozen parts
};

[[nodiscard]] constexpr Images images_of(const Plan& p) {
  return {p.batch.images, p.batch.image_patches};
}

// Micro-batches of one pipeline per step.
[[nodiscard]] constexpr std::int64_t micro_batches(const Plan& p) {
  return p.batch.global / (p.dp * p.batch.micro);
}

// ZeRO-3 gathers weights one by one. Then nothing hides its calls.
[[nodiscard]] constexpr bool gathers_singly(const Plan& p) {
  return p.zero == 3 && p.overlap.gather_singly;
}
// Gathers of a micro-batch before backward's work on a unit. One by one, full recomputation gathers
// a weight for the repeated forward and, as it is released in between, again.
[[nodiscard]] constexpr std::int64_t backward_gathers(const Plan& p) {
  return gathers_singly(p) && p.memory.recompute == Recompute::full ? 2 : 1;
}

// Experts are whole on each of their ranks although tp divides the rest of the layer.
[[nodiscard]] constexpr bool whole_experts(const Plan& p) { return p.experts.tp == 1 && p.tp > 1; }
// Ranks among which experts are divided or replicated, and that hold copies of one expert's
// weights.
[[nodiscard]] constexpr std::int64_t expert_ranks(const Plan& p) {
  return p.cp * p.dp * (whole_experts(p) ? p.tp : 1);
}
[[nodiscard]] constexpr std::int64_t expert_replicas(const Plan& p) {
  return expert_ranks(p) / p.ep;
}

// Layers of each of `stages`, as even as possible, with the fuller stages in the middle because the
// ends also have the embedding and the head. Both arguments are positive.
[[nodiscard]] std::vector<std::int64_t> even_stages(std::int64_t layers, std::int64_t stages);

// Success if the plan can run for this model. Errors name the flags (plan_fields.h) and values that
// would work. If there are fewer key-value heads than tp, they are replicated as in Megatron; tp
// must be a multiple of them. Safe for any numbers. `model` must come from a reader (check_model).
[[nodiscard]] Result<Done> check_plan(const Transformer& model, const Plan& plan);

}  // namespace stepscope
