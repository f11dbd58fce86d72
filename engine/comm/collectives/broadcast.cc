// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/collectives/collective_steps.h"
#include "engine/comm/communicator/copy.h"

namespace stepscope::comm {
namespace {

void stage(const StepPlace& at, const CollectiveRequest& request, std::size_t k, std::byte* slot) {
  if (at.rank != request.peer || at.ranks == 1) return;
  const Extent part = piece(at.payload, at.slot_bytes, k);
  copy_message(slot, request.in.data() + part.begin, part.size, at.streaming);
}

void take(const StepPlace& at, const CollectiveRequest& request, std::size_t k,
          std::span<const std::byte* const> slots) {
  const Extent part = piece(at.payload, at.slot_bytes, k);
  std::byte* to = request.out.data() + part.begin;
  const std::byte* from = at.rank == request.peer ? request.in.data() + part.begin
                                                  : slots[static_cast<std::size_t>(request.peer)];
  if (from != to) copy_message(to, from, part.size, at.streaming);
}

}  // namespace

const CollectiveSteps broadcast_steps{bucket_chunks, always<BucketPattern::from_root>,
                                      nothing_before, stage, take};

}  // namespace stepscope::comm
