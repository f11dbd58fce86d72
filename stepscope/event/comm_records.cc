// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/comm_records.h"

#include <array>
#include <utility>

namespace stepscope {

std::string_view name_of(CallState state) {
  constexpr std::array<std::string_view, 6> names = {"unknown", "scheduled", "started",
                                                     "ended",   "completed", "unfinished"};
  return names[static_cast<std::size_t>(state)];
}

std::uint32_t CommRecords::rank_numbered(int number) {
  const auto [at, fresh] = rank_index.try_emplace(number, static_cast<std::uint32_t>(ranks.size()));
  if (fresh) ranks.push_back({.number = number, .label = "rank " + std::to_string(number)});
  return at->second;
}

std::uint32_t CommRecords::group_keyed(std::string_view key) {
  const auto [at, fresh] =
      group_index.try_emplace(std::string(key), static_cast<std::uint32_t>(groups.size()));
  if (fresh) groups.emplace_back();
  return at->second;
}

CommSequence& CommRecords::sequence_of(std::uint32_t group, std::uint32_t rank) {
  const std::uint64_t key = std::uint64_t{group} << 32U | rank;
  const auto [at, fresh] =
      sequence_index.try_emplace(key, static_cast<std::uint32_t>(sequences.size()));
  if (fresh) {
    CommSequence sequence;
    sequence.group = group;
    sequence.rank = rank;
    sequences.push_back(std::move(sequence));
  }
  return sequences[at->second];
}

}  // namespace stepscope
