// SPDX-License-Identifier: Apache-2.0
// Lower bounds on a plan's time and memory, from its layers' costs alone, for all choices that a
// search has not made yet. A plan whose bound is too high need not be evaluated. The tests compare
// them with evaluate().
//
// Time. Let t(s) be forward + backward of virtual stage s for one micro-batch as in evaluate(), m
// the micro-batches, p the devices of the pipeline. Let u(s) be the sum over the stage's layers
// (and embedding, head) of forward, backward and recomputation. Then t(s) >= u(s), because
// everything that is added (gathers, fetches, summed gradients) takes at least 0 s.
//   1. step >= busy = m max over devices of their t: every other term is >= 0. 2. GPipe: sum t +
//   (m-1)(max F + max B) >= sum u + (m-1) max u. 1F1B, on stage s, m >= p - s:
//      the forwards down to s, those that s waits for, its turns, and up again: pipeline.cc's
//      down + up + turns t(s) >= (t(0) + ... + t(s)) + (p-1-s) t(s) + (m-p+s) t(s), so it is
//      >= u(0) + ... + u(s) + (m-1) u(s). Even stages take more: (m+p-1) t.
//   3. interleaved: before its first micro-batch the last device waits for the first chunk of the
//   others, and after its last one it waits again: >= m u(last device) + sum of u(r), r < p-1. From
//      pipeline.cc at device p-1, whose warm-up (v-1)p is less than all its m v passes.
// every_k keeps some layers and recomputes others: each takes at least the cheaper of both.
//
// Memory. memory_of() never decreases when a part of its StageLoad grows, and the fullest device
// holds at least as much as the first two. Their loads are exact with three exceptions: workspace
// and units count as 0, and the bytes kept by every_k count as the least for that number of layers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "stepscope/cost/search/search_space.h"
#include "stepscope/cost/step/cost_context.h"
#include "stepscope/cost/time/memory_footprint.h"

namespace stepscope {

// Prefix sums over layers; by none, selective, full, every_k.
struct LayerSums {
  std::array<double, recompute_names.size()> seconds{};
  std::array<double, recompute_names.size()> kept_bytes{};
  double parameters = 0;
  double expert_parameters = 0;
  double trained = 0;
  double trained_experts = 0;
};
struct LayerBounds {
  std::vector<LayerSums> before;  // before each layer; and over all
  double whole_bytes = 0;         // additional bytes of a layer kept whole over a recomputed one
  double embedding = 0;           // seconds
  std::array<double, 2> head{};   // seconds; as CostContext::head
};
[[nodiscard]] LayerBounds layer_bounds(const CostContext& context);

// REQUIRES: `plan` has its shape, split and recomputation.
[[nodiscard]] double least_step(const LayerBounds& bounds, const Plan& plan);
// A bound that ignores the stages: the mean over devices of `busy`. REQUIRES: as least_step.
[[nodiscard]] double least_busy(const LayerBounds& bounds, const Plan& plan);
// Loads of the pipeline's first device and of its second, if it has one.
using LeastLoads = std::array<std::optional<StageLoad>, 2>;
[[nodiscard]] LeastLoads least_loads(const LayerBounds& bounds, const CostContext& context,
                                     const Plan& plan);
// REQUIRES: as least_step; `plan` also has its states.
[[nodiscard]] double least_memory(const LeastLoads& loads, const Plan& plan);
// The bytes of one parameter in the plan's precision: itself, its gradient, its master and the
// optimizer's states.
[[nodiscard]] double state_bytes(const Precision& precision);
// Bound over all states that a plan may have: every state is sharded over all ranks, or (`away`)
// offloaded.
[[nodiscard]] double least_memory_of_any(const LeastLoads& loads, const Plan& plan, bool away);

}  // namespace stepscope
