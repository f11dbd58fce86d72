// SPDX-License-Identifier: Apache-2.0
// Numbers distinct keys 0, 1, 2 … in the order of their first appearance. Open addressing with
// linear probing over the numbers. The keys are in one vector, so a look-up neither divides nor
// follows a chain as std::unordered_map does. Hash need not mix its low bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stepscope {

template <class Key, class Hash>
class KeyIndex {
 public:
  KeyIndex() : slots_(64, free) {}

  // The key's number, and whether the key is new.
  std::pair<std::uint32_t, bool> insert(const Key& key) {
    std::uint32_t& slot = slots_[slot_of(key)];
    if (slot != free) return {slot, false};
    const auto number = static_cast<std::uint32_t>(keys_.size());
    slot = number;
    keys_.push_back(key);
    if (2 * keys_.size() > slots_.size()) grow();
    return {number, true};
  }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  static constexpr std::uint32_t free = std::numeric_limits<std::uint32_t>::max();

  // The slot of the key, or the free slot where it belongs.
  [[nodiscard]] std::size_t slot_of(const Key& key) const {
    const std::uint64_t hash = Hash{}(key) * 0x9E3779B97F4A7C15ULL;
    std::size_t at = static_cast<std::size_t>(hash >> 32) & (slots_.size() - 1);
    while (slots_[at] != free && !(keys_[slots_[at]] == key)) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), free);
    for (std::uint32_t number = 0; number < keys_.size(); ++number)
      slots_[slot_of(keys_[number])] = number;
  }

  std::vector<Key> keys_;
  std::vector<std::uint32_t> slots_;  // size is a power of two; at most half are in use
};

}  // namespace stepscope
