// SPDX-License-Identifier: Apache-2.0
// NCCL's words for functions, types, algorithms and protocols: as the small numbers of its
// enumerations (interface v1 has the numbers, later ones the texts), and in the spelling of
// stepscope's traces.
#pragma once

#include <cstdint>

namespace stepscope::nccl {

inline constexpr std::uint8_t unknown_word = 255;

// ncclFunc_t
enum class Function : std::uint8_t {
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_reduce,
  send_recv,
  send,
  recv,
  all_to_all,
  scatter,
  gather,
  all_gather_v,
  unknown = unknown_word
};

// The number of a text; unknown_word for a null pointer and for unknown texts. "Unknown" as a type
// is ncclUint8 and "Invalid" as a function AllGatherV: NCCL lacks the words.
[[nodiscard]] std::uint8_t function_code(const char* text);   // "AllReduce"
[[nodiscard]] std::uint8_t datatype_code(const char* text);   // "ncclFloat32"
[[nodiscard]] std::uint8_t algorithm_code(const char* text);  // "RING"
[[nodiscard]] std::uint8_t protocol_code(const char* text);   // "LL128"

// Back to texts; null for what is unknown.
[[nodiscard]] const char* function_text(std::uint8_t code);    // "AllReduce"
[[nodiscard]] const char* collective_name(std::uint8_t code);  // "allreduce", as PyTorch records it
[[nodiscard]] const char* dtype_name(std::uint8_t code);       // "Float", c10's name
[[nodiscard]] std::uint32_t dtype_bytes(std::uint8_t code);    // of an element; 0 = unknown
[[nodiscard]] const char* algorithm_text(std::uint8_t code);
[[nodiscard]] const char* protocol_text(std::uint8_t code);

}  // namespace stepscope::nccl
