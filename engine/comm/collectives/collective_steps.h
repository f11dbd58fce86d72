// SPDX-License-Identifier: Apache-2.0
// How each collective goes through the ring of buckets. A message is cut into chunks. Every rank
// first stages a chunk: it copies the data that others need into its next bucket. Then it takes the
// chunk: it copies or reduces the data that it needs from the buckets of the others. These are pure
// functions over memory, one file per collective; window_group.h says when they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/comm/communicator/communicator.h"

namespace stepscope::comm {

struct StepPlace {
  int rank = 0;
  int ranks = 1;
  std::size_t slot_bytes = 0;
  std::size_t payload = 0;  // S
  bool streaming = false;   // S does not fit the caches
};
// Non-temporal stores to lines that are in a cache take longer than ordinary ones.
inline constexpr std::size_t streaming_from_bytes = 4 << 20;
// Up to this many bytes, summed over all ranks, each rank reduces a whole all_reduce itself.
inline constexpr std::size_t all_reduce_short_bytes = 128 * 1024;

// Which data of a bucket goes to which rank. whole: every bucket to all ranks. parts: each part to
// its rank. from_root: the root's bucket to all ranks. nothing: no data.
enum class BucketPattern : std::uint8_t { whole, parts, from_root, nothing };

struct CollectiveSteps {
  // At least one.
  std::size_t (*chunks)(const StepPlace&);
  BucketPattern (*pattern)(const StepPlace&, std::size_t k);
  // The number of this collective's chunks that a rank must have taken before it can stage chunk k.
  std::size_t (*taken_before)(const StepPlace&, std::size_t k);
  void (*stage)(const StepPlace&, const CollectiveRequest&, std::size_t k, std::byte* slot);
  // slots[p] is the bucket of rank p; the rank's own bucket is among them.
  void (*take)(const StepPlace&, const CollectiveRequest&, std::size_t k,
               std::span<const std::byte* const> slots);
};

extern const CollectiveSteps all_gather_steps;
extern const CollectiveSteps reduce_scatter_steps;
extern const CollectiveSteps all_reduce_steps;
extern const CollectiveSteps broadcast_steps;
extern const CollectiveSteps all_to_all_steps;
extern const CollectiveSteps barrier_steps;

// Null for operations that are not collectives of a group (send, recv, …).
[[nodiscard]] const CollectiveSteps* collective_steps(CollectiveKind kind);

// --- Shared by the files of the collectives

struct Extent {
  std::size_t begin = 0;
  std::size_t size = 0;
};
// Piece k of [0, total) in pieces of `step`.
[[nodiscard]] inline Extent piece(std::size_t total, std::size_t step, std::size_t k) {
  const std::size_t begin = k * step;
  if (begin >= total) return {total, 0};
  return {begin, total - begin < step ? total - begin : step};
}
[[nodiscard]] inline std::size_t pieces(std::size_t total, std::size_t step) {
  return total == 0 ? 1 : (total + step - 1) / step;
}

// A bucket divided into one part for each other rank.
[[nodiscard]] inline std::size_t part_bytes(const StepPlace& at) {
  const auto others = static_cast<std::size_t>(at.ranks > 1 ? at.ranks - 1 : 1);
  return at.slot_bytes / others / 64 * 64;
}
// The place of the part for rank `to` in the bucket of rank `from`.
[[nodiscard]] inline std::size_t part_offset(const StepPlace& at, int from, int to) {
  return static_cast<std::size_t>(to < from ? to : to - 1) * part_bytes(at);
}

[[nodiscard]] inline std::size_t bucket_chunks(const StepPlace& at) {
  return pieces(at.payload, at.slot_bytes);
}
[[nodiscard]] inline std::size_t part_chunks(const StepPlace& at) {
  return pieces(at.payload, part_bytes(at));
}
template <BucketPattern pattern>
[[nodiscard]] BucketPattern always(const StepPlace& /*at*/, std::size_t /*k*/) {
  return pattern;
}
[[nodiscard]] inline std::size_t nothing_before(const StepPlace& /*at*/, std::size_t /*k*/) {
  return 0;
}

}  // namespace stepscope::comm
