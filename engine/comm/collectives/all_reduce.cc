// SPDX-License-Identifier: Apache-2.0
// Short messages: each rank takes the whole message of every rank and reduces it itself. Long
// messages are reduced segment by segment: each rank reduces its piece of the segment (as
// reduce_scatter does), then stages the reduced piece for the others (as all_gather does). The
// order of chunks is pieces(0), pieces(1), gather(0), pieces(2), gather(1), …: the pieces run one
// segment ahead, so no rank waits between the two halves of a segment.
#include <array>

#include "engine/comm/collectives/collective_steps.h"
#include "engine/comm/collectives/reduce.h"
#include "engine/comm/communicator/copy.h"

namespace stepscope::comm {
namespace {

bool is_short(const StepPlace& at) {
  return at.payload * static_cast<std::size_t>(at.ranks) <= all_reduce_short_bytes &&
         at.payload <= at.slot_bytes;
}
std::size_t segment_bytes(const StepPlace& at) {
  return part_bytes(at) * static_cast<std::size_t>(at.ranks);
}
std::size_t segments(const StepPlace& at) { return pieces(at.payload, segment_bytes(at)); }

struct Chunk {
  bool gather = false;
  std::size_t segment = 0;
};
Chunk chunk_at(std::size_t segment_count, std::size_t k) {
  if (k == 0) return {false, 0};
  if (k == 2 * segment_count - 1) return {true, segment_count - 1};
  return k % 2 == 1 ? Chunk{false, (k + 1) / 2} : Chunk{true, k / 2 - 1};
}

// The piece of a segment that rank r reduces, as an extent of the whole message.
Extent piece_of(const StepPlace& at, std::size_t segment, int r) {
  const Extent whole = piece(at.payload, segment_bytes(at), segment);
  const auto n = static_cast<std::size_t>(at.ranks);
  const std::size_t step = ((whole.size + n - 1) / n + 63) / 64 * 64;
  if (step == 0) return {whole.begin, 0};
  const Extent part = piece(whole.size, step, static_cast<std::size_t>(r));
  return {whole.begin + part.begin, part.size};
}

std::size_t chunks(const StepPlace& at) { return is_short(at) ? 1 : 2 * segments(at); }

std::size_t taken_before(const StepPlace& at, std::size_t k) {
  if (is_short(at)) return 0;
  const Chunk chunk = chunk_at(segments(at), k);
  if (!chunk.gather) return 0;
  return chunk.segment == 0 ? 1 : 2 * chunk.segment;  // the segment's pieces: 2·segment - 1
}

void stage(const StepPlace& at, const CollectiveRequest& request, std::size_t k, std::byte* slot) {
  if (is_short(at)) {
    if (at.ranks > 1) copy_cached(slot, request.in.data(), at.payload);
    return;
  }
  const Chunk chunk = chunk_at(segments(at), k);
  if (chunk.gather) {
    if (at.ranks == 1) return;
    const Extent own = piece_of(at, chunk.segment, at.rank);
    // Ordinary stores, here and below: the other ranks read the bucket at once.
    return copy_cached(slot, request.out.data() + own.begin, own.size);
  }
  for (int to = 0; to < at.ranks; ++to) {
    if (to == at.rank) continue;
    const Extent part = piece_of(at, chunk.segment, to);
    copy_cached(slot + part_offset(at, at.rank, to), request.in.data() + part.begin, part.size);
  }
}

void reduce_piece(const StepPlace& at, const CollectiveRequest& request, Extent own,
                  std::span<const std::byte* const> slots) {
  std::array<const std::byte*, most_sharing_ranks> sources{};
  for (int from = 0; from < at.ranks; ++from) {
    const std::byte* slot = slots[static_cast<std::size_t>(from)];
    if (from == at.rank) {
      slot = request.in.data() + own.begin;
    } else if (!is_short(at)) {
      slot += part_offset(at, from, at.rank);
    }
    sources[static_cast<std::size_t>(from)] = slot;
  }
  reduce_in_order(request.type, request.reduction, std::span(sources).first(slots.size()),
                  request.out.data() + own.begin, own.size, false);  // it is staged next
}

void take(const StepPlace& at, const CollectiveRequest& request, std::size_t k,
          std::span<const std::byte* const> slots) {
  if (is_short(at)) return reduce_piece(at, request, {0, at.payload}, slots);
  const Chunk chunk = chunk_at(segments(at), k);
  if (!chunk.gather) {
    return reduce_piece(at, request, piece_of(at, chunk.segment, at.rank), slots);
  }
  for (int from = 0; from < at.ranks; ++from) {
    if (from == at.rank) continue;
    const Extent part = piece_of(at, chunk.segment, from);
    copy_message(request.out.data() + part.begin, slots[static_cast<std::size_t>(from)], part.size,
                 at.streaming);
  }
}

BucketPattern pattern(const StepPlace& at, std::size_t k) {
  if (is_short(at) || chunk_at(segments(at), k).gather) return BucketPattern::whole;
  return BucketPattern::parts;
}

}  // namespace

const CollectiveSteps all_reduce_steps{chunks, pattern, taken_before, stage, take};

}  // namespace stepscope::comm
