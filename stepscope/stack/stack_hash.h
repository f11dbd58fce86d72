// SPDX-License-Identifier: Apache-2.0
// A 128-bit hash, and a cache of fixed size from hash to number. The hash is so wide that texts
// with equal hashes are taken as equal.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"

namespace stepscope {

struct WideHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const WideHash&) const = default;
};

namespace detail {
__extension__ using Wide = unsigned __int128;
inline std::uint64_t load_word(const char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}
inline std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
}  // namespace detail

// Two lanes read 16 bytes per iteration. The last words overlap, so no length needs a loop over
// bytes.
inline WideHash wide_hash(std::string_view text) {
  constexpr std::uint64_t k0 = 0x9E3779B97F4A7C15ULL;
  constexpr std::uint64_t k1 = 0xD6E8FEB86659FD93ULL;
  const char* p = text.data();
  const std::size_t n = text.size();
  std::uint64_t a = n * k0;
  std::uint64_t b = (n + 1) * k1;
  const auto mix = [&](std::uint64_t x, std::uint64_t y) {
    a = detail::folded(a ^ x, k0 ^ y);
    b = detail::folded(b ^ y, k1 ^ x);
  };
  if (n < 16) {
    char padded[16] = {};
    std::memcpy(padded, p, n);
    mix(detail::load_word(padded), detail::load_word(padded + 8));
  } else {
    for (std::size_t i = 0; i + 16 < n; i += 16)
      mix(detail::load_word(p + i), detail::load_word(p + i + 8));
    mix(detail::load_word(p + n - 16), detail::load_word(p + n - 8));
  }
  return {detail::folded(a ^ (b >> 32), k1), detail::folded(b ^ (a << 32), k0)};
}

class HashCache {
 public:
  explicit HashCache(std::size_t slots = window_bytes / 16) : slots_(slots) {}  // a power of two

  // Null if the hash is not in the cache.
  [[nodiscard]] const std::uint32_t* find(const WideHash& hash) const {
    const Slot& slot = slots_[hash.low & (slots_.size() - 1)];
    return slot.used && slot.hash == hash ? &slot.value : nullptr;
  }
  void put(const WideHash& hash, std::uint32_t value) {
    slots_[hash.low & (slots_.size() - 1)] = {hash, value, true};
  }

 private:
  struct Slot {
    WideHash hash;
    std::uint32_t value = 0;
    bool used = false;
  };
  std::vector<Slot> slots_;
};

}  // namespace stepscope
