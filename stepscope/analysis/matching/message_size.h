// SPDX-License-Identifier: Apache-2.0
// The bytes of a collective, and the types of its elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/event/name_rules.h"

namespace stepscope {

// Bytes of an element, for c10 names ("BFloat16") and operator argument types ("c10::BFloat16",
// "long int"). Absent for names that are not a tensor type.
[[nodiscard]] std::optional<std::int64_t> dtype_bytes(std::string_view dtype);
// One spelling for both: "float" → "Float", "c10::BFloat16" → "BFloat16".
[[nodiscard]] std::string_view dtype_name(std::string_view dtype);

// The sizes that one rank recorded of a message.
struct MessageElements {
  std::int64_t in = -1;  // of this rank; -1 = not recorded
  std::int64_t out = -1;
  int group_size = -1;
};
// S, the total buffer (nccl-tests, PERFORMANCE.md). All-gather and gather: everything received.
// Reduce-scatter, scatter and all-to-all: everything sent. Others: the message. If the output is
// not recorded, it is the inputs of the whole group.
[[nodiscard]] std::optional<Bytes> message_bytes(CollectiveKind kind,
                                                 const MessageElements& elements,
                                                 std::int64_t bytes_per_element);

// The size in the name of a range, "AllReduce_0_104.9MB": KB, MB, GB are powers of 1000, KiB, MiB,
// GiB of 1024. Absent without one, or with several that differ.
struct NamedSize {
  Bytes bytes;
  Bytes rounding;  // half a unit of its last digit
};
[[nodiscard]] std::optional<NamedSize> size_in_name(std::string_view name);
// Whether a size is that of the whole message. With the other kinds it may be one rank's part.
[[nodiscard]] constexpr bool size_is_whole(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == all_reduce || kind == reduce || kind == broadcast || kind == reduce_scatter ||
         kind == all_to_all || kind == send || kind == recv;
}

// The operator arguments of an annotation, "[[394241], []]" and "[\"float\", \"Scalar\"]": its
// tensors as one message. Absent without a tensor of known type.
struct TensorArguments {
  std::string_view dtype;     // of the first tensor; a view into `types`
  std::int64_t elements = 0;  // over all tensors of that type
};
[[nodiscard]] std::optional<TensorArguments> tensor_arguments(std::string_view dims,
                                                              std::string_view types);

constexpr bool is_known(CollectiveKind kind) {
  return kind != CollectiveKind::none && kind != CollectiveKind::unknown;
}
// True if the output has the inputs of all.
constexpr bool gathers(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::gather;
}
// True if every rank of the group leaves such a collective only after the last rank has arrived.
constexpr bool is_barrier_like(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_to_all ||
         kind == CollectiveKind::barrier;
}
// True if one rank of the group sends to all, or receives from all.
constexpr bool is_from_root(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::scatter;
}
constexpr bool is_to_root(CollectiveKind kind) {
  return kind == CollectiveKind::reduce || kind == CollectiveKind::gather;
}
constexpr bool is_rooted(CollectiveKind kind) { return is_from_root(kind) || is_to_root(kind); }

}  // namespace stepscope
