// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/collectives/collective_steps.h"
#include "engine/comm/communicator/copy.h"

namespace stepscope::comm {
namespace {

void stage(const StepPlace& at, const CollectiveRequest& request, std::size_t k, std::byte* slot) {
  if (at.ranks == 1) return;
  const Extent own = piece(at.payload, at.slot_bytes, k);
  // Ordinary stores: the other ranks read the bucket at once.
  copy_cached(slot, request.in.data() + own.begin, own.size);
}

void take(const StepPlace& at, const CollectiveRequest& request, std::size_t k,
          std::span<const std::byte* const> slots) {
  const Extent part = piece(at.payload, at.slot_bytes, k);
  for (std::size_t from = 0; from < slots.size(); ++from) {
    std::byte* to = request.out.data() + from * at.payload + part.begin;
    const bool own = from == static_cast<std::size_t>(at.rank);
    const std::byte* source = own ? request.in.data() + part.begin : slots[from];
    if (source != to) copy_message(to, source, part.size, at.streaming);
  }
}

}  // namespace

const CollectiveSteps all_gather_steps{bucket_chunks, always<BucketPattern::whole>, nothing_before,
                                       stage, take};

}  // namespace stepscope::comm
