// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/collectives/collective_steps.h"
#include "engine/comm/communicator/copy.h"

namespace stepscope::comm {
namespace {

void stage(const StepPlace& at, const CollectiveRequest& request, std::size_t k, std::byte* slot) {
  const Extent part = piece(at.payload, part_bytes(at), k);
  for (int to = 0; to < at.ranks; ++to) {
    if (to == at.rank) continue;
    const std::byte* block = request.in.data() + static_cast<std::size_t>(to) * at.payload;
    copy_message(slot + part_offset(at, at.rank, to), block + part.begin, part.size, at.streaming);
  }
}

void take(const StepPlace& at, const CollectiveRequest& request, std::size_t k,
          std::span<const std::byte* const> slots) {
  const Extent part = piece(at.payload, part_bytes(at), k);
  for (int from = 0; from < at.ranks; ++from) {
    const std::size_t block = static_cast<std::size_t>(from) * at.payload + part.begin;
    const std::byte* source =
        from == at.rank ? request.in.data() + block
                        : slots[static_cast<std::size_t>(from)] + part_offset(at, from, at.rank);
    copy_message(request.out.data() + block, source, part.size, at.streaming);
  }
}

}  // namespace

const CollectiveSteps all_to_all_steps{part_chunks, always<BucketPattern::parts>, nothing_before,
                                       stage, take};

}  // namespace stepscope::comm
