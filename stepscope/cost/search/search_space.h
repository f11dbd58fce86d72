// SPDX-License-Identifier: Apache-2.0
// The plans of a search for one device count, as a tree in a fixed order: shapes (one cost context
// each), splits of the rest into pipeline and data parallelism with a schedule, recomputation, and
// the placement of states.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stepscope/cost/search/search_request.h"

namespace stepscope {

// A plan with tp, layout, sp, cp, exchange, ep, micro_batch set and the rest from the base.
struct SearchShape {
  Plan plan;
  std::int64_t index = 0;  // in tree order
  double least = 0;        // seconds: lower bound of all plans below; infinite: no plan can run
};

// pp, schedule, virtual_stages; dp is the rest.
struct Split {
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t virtual_stages = 1;
  // Layers of the last stage where it has fewer than even stages have, because the head is also
  // there. 0: even stages.
  std::int64_t last_layers = 0;
};

struct Recomputation {
  Recompute how = Recompute::none;
  std::int64_t every = 1;
};

struct StateChoice {
  int zero = 0;
  std::int64_t shard_group = 0;
  bool reduce_each_micro_batch = false;
  Residence optimizer_at = Residence::device;
  Residence gradients_at = Residence::device;
  Residence parameters_at = Residence::device;
};

struct SearchSpace {
  const Transformer* model = nullptr;
  const SearchRequest* request = nullptr;
  std::int64_t devices = 1;
  bool offload = false;
};

[[nodiscard]] bool allows(const SearchRequest& request, SearchKey key, std::int64_t value);

// Whether states may be placed on host or drive: the search tries that, or the request asks for it.
[[nodiscard]] bool states_may_leave(const SearchRequest& request, bool offload);

// Shapes that the model can run. The others are counted with all their plans.
struct ShapeList {
  std::vector<SearchShape> shapes;
  std::array<std::int64_t, rejected_count> rejected{};
};
[[nodiscard]] ShapeList list_shapes(const SearchSpace& space);

[[nodiscard]] std::vector<Split> list_splits(const SearchSpace& space, const Plan& shape);
[[nodiscard]] std::vector<Recomputation> list_recomputations(const SearchSpace& space,
                                                             const Split& split);
// For `replicas` = dp * cp ranks with the same weights.
[[nodiscard]] std::vector<StateChoice> list_states(const SearchSpace& space, const Plan& shape,
                                                   std::int64_t replicas, bool several_passes);

// Puts a choice into `plan`. If stages cannot be even, they are as even as possible, but for a last
// stage with fewer layers.
void take(Plan& plan, const Transformer& model, const Split& split);
void take(Plan& plan, const Recomputation& recomputation);
void take(Plan& plan, const StateChoice& states);

// The reason why the plan of a split cannot run, if any. Otherwise all other choices of the split
// can run.
[[nodiscard]] std::optional<Rejected> obstacle(const Transformer& model, const Plan& plan);

// Number of plans below a shape.
[[nodiscard]] std::int64_t count_plans(const SearchSpace& space, const Plan& shape);
// Counts them by obstacle; plans without one count as `otherwise`.
void count_plans(const SearchSpace& space, const Plan& shape, Rejected otherwise,
                 std::array<std::int64_t, rejected_count>& rejected);

}  // namespace stepscope
