// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "engine/comm/collectives/collective_steps.h"
#include "engine/comm/collectives/reduce.h"
#include "engine/comm/communicator/copy.h"

namespace stepscope::comm {
namespace {

void stage(const StepPlace& at, const CollectiveRequest& request, std::size_t k, std::byte* slot) {
  const Extent part = piece(at.payload, part_bytes(at), k);
  for (int to = 0; to < at.ranks; ++to) {
    if (to == at.rank) continue;
    const std::byte* block = request.in.data() + static_cast<std::size_t>(to) * at.payload;
    // Ordinary stores: its rank reads the part at once.
    copy_cached(slot + part_offset(at, at.rank, to), block + part.begin, part.size);
  }
}

void take(const StepPlace& at, const CollectiveRequest& request, std::size_t k,
          std::span<const std::byte* const> slots) {
  const Extent part = piece(at.payload, part_bytes(at), k);
  const std::byte* block = request.in.data() + static_cast<std::size_t>(at.rank) * at.payload;
  std::array<const std::byte*, most_sharing_ranks> sources{};
  for (int from = 0; from < at.ranks; ++from) {
    sources[static_cast<std::size_t>(from)] =
        from == at.rank ? block + part.begin
                        : slots[static_cast<std::size_t>(from)] + part_offset(at, from, at.rank);
  }
  reduce_in_order(request.type, request.reduction, std::span(sources).first(slots.size()),
                  request.out.data() + part.begin, part.size, at.streaming);
}

}  // namespace

const CollectiveSteps reduce_scatter_steps{part_chunks, always<BucketPattern::parts>,
                                           nothing_before, stage, take};

}  // namespace stepscope::comm
