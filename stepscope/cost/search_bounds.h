// SPDX-License-Identifier: Apache-2.0
// Lower bounds on what a plan takes, from its layers' costs alone, for all choices that a search
// has not made yet: what exceeds one need not be evaluated. The tests hold them against evaluate().
//
// Time. Let t(s) be forward + backward of virtual stage s for one micro-batch as evaluate() has it,
// T their sum, m the micro-batches, p the devices of the pipeline. t(s) is at least u(s), the sum
// over its layers (and embedding, head) of forward, backward and what recomputation runs again,
// since all that is added (gathers, fetches, summed gradients) takes no less than 0 s. With U the
// sum of u:
//   1. step >= busy = m max over devices of their stages' t >= m max(U / p, u of the last device):
//      a maximum is no less than the mean, and every term beside `busy` is >= 0.
//   2. GPipe: T + (m-1)(max F + max B) >= U + (m-1) u(p-1). 1F1B: the path down all stages, m turns
//      on the last, and up again: T + (m-1) t(p-1) (even stages: the same).
//   3. interleaved: before its first micro-batch the last device waits for the first chunk of the
//      others, and after its last one likewise: >= m u(last device) + sum of u(r), r < p-1. From
//      pipeline.cc at device p-1, whose warm-up (v-1)p is less than all its m v passes.
// every_k keeps some layers and recomputes others: each takes at least the cheaper of both.
//
// Memory. memory_of() never falls when a part of its StageLoad grows, and the fullest device holds
// at least what the first does; its load is taken exactly but for the workspace, which is taken as
// 0. Where layers differ, each counts as the least of its kinds.
#pragma once

#include <array>
#include <cstdint>

#include "stepscope/cost/cost_context.h"
#include "stepscope/cost/memory.h"
#include "stepscope/cost/search_space.h"

namespace stepscope {

// Of one layer, and of all of them, by none, selective, full, every_k.
struct LayerBounds {
  std::array<double, recompute_names.size()> least{};  // seconds, of any layer
  std::array<double, recompute_names.size()> all{};
  std::array<double, recompute_names.size()> kept_bytes{};  // of any layer
  double parameters = 0;
  double expert_parameters = 0;
  double embedding = 0;          // seconds
  std::array<double, 2> head{};  // seconds; as CostContext::head
};
[[nodiscard]] LayerBounds layer_bounds(const CostContext& context);

// REQUIRES: plan has shape, split and recomputation.
[[nodiscard]] double least_step(const LayerBounds& bounds, const CostContext& context,
                                const Plan& plan);
[[nodiscard]] StageLoad least_load(const LayerBounds& bounds, const CostContext& context,
                                   const Plan& plan);
// REQUIRES: plan has its states too.
[[nodiscard]] double least_memory(const StageLoad& load, const Plan& plan);

}  // namespace stepscope
