// SPDX-License-Identifier: Apache-2.0
// The settings from the environment. docs/reference/nccl-plugin.md has the variables.
#pragma once

#include <array>
#include <cstdint>

namespace stepscope::nccl {

inline constexpr std::uint32_t default_mask = 0x704e;  // coll, p2p, proxy, kernel, ce

struct Settings {
  std::uint32_t mask = 0;  // bits of abi::EventType to request from NCCL
  std::uint32_t rows = 0;  // kinds that get rows of their own, as bits
  std::uint32_t slots = 0;
  std::uint64_t most_bytes = 0;  // of a file; 0 = no bound
  std::array<char, 1024> folder = {};
  std::int32_t rank = 0;  // of the process in its job; -1 = not said
  std::int32_t world_size = 0;
  std::array<char, 240> complaint = {};  // a variable that could not be read; empty = none
};

// Never fails: a variable that cannot be read keeps its default, and `complaint` says so.
[[nodiscard]] Settings settings_of_environment();

// The mask of "coll,kernel,proxy"; false for a list with an unknown word.
[[nodiscard]] bool parse_events(const char* text, std::uint32_t& mask);

// `mask` and the kinds above them in NCCL's tree. NCCL begins those in any case.
[[nodiscard]] std::uint32_t with_parents(std::uint32_t mask);

}  // namespace stepscope::nccl
