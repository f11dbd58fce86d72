// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/collectives/collective_steps.h"

namespace stepscope::comm {

const CollectiveSteps barrier_steps{
    [](const StepPlace&) -> std::size_t { return 1; },
    always<BucketPattern::nothing>,
    nothing_before,
    [](const StepPlace&, const CollectiveRequest&, std::size_t, std::byte*) {},
    [](const StepPlace&, const CollectiveRequest&, std::size_t, std::span<const std::byte* const>) {
    },
};

const CollectiveSteps* collective_steps(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return &all_reduce_steps;
    case CollectiveKind::all_gather:
      return &all_gather_steps;
    case CollectiveKind::reduce_scatter:
      return &reduce_scatter_steps;
    case CollectiveKind::broadcast:
      return &broadcast_steps;
    case CollectiveKind::all_to_all:
      return &all_to_all_steps;
    case CollectiveKind::barrier:
      return &barrier_steps;
    default:
      return nullptr;
  }
}

}  // namespace stepscope::comm
