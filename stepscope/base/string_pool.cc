// SPDX-License-Identifier: Apache-2.0
// Open addressing with linear probing over (hash, id). The texts are in blocks that never move.
#include "stepscope/base/string_pool.h"

#include <algorithm>
#include <cstring>

namespace stepscope {
namespace {

// A small trace has a few kilobytes of text, and a job has thousands of traces.
constexpr std::size_t first_block = 1 << 12;
constexpr std::size_t largest_block = 1 << 16;

// The hash reads 8 bytes at a time and folds them with a 64×64→128-bit product.
std::uint64_t load8(const char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

std::uint64_t load4(const char* p) {
  std::uint32_t word = 0;
  std::memcpy(&word, p, 4);
  return word;
}

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint32_t slot_hash(std::string_view text) {
  return static_cast<std::uint32_t>(text_hash(text) >> 32) | 1U;
}

}  // namespace

// The last word overlaps the one before, so no length needs a loop over bytes.
std::uint64_t text_hash(std::string_view text) {
  constexpr std::uint64_t k = 0x9E3779B97F4A7C15ULL;
  const char* p = text.data();
  const std::size_t n = text.size();
  std::uint64_t h = n * k;
  if (n >= 8) {
    for (std::size_t i = 0; i + 8 < n; i += 8) h = fold(h ^ load8(p + i), k);
    h = fold(h ^ load8(p + n - 8), k);
  } else if (n >= 4) {
    h = fold(h ^ (load4(p) << 32 | load4(p + n - 4)), k);
  } else if (n > 0) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i]));
    };
    h = fold(h ^ (byte(0) << 16 | byte(n / 2) << 8 | byte(n - 1)), k);
  }
  return h;
}

StringPool::StringPool() : slots_(1024), texts_{std::string_view{}} {}

StringId StringPool::intern(std::string_view text) {
  if (text.empty()) return empty_string;
  const std::uint32_t hash = slot_hash(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].id != 0; at = (at + 1) & mask)
    if (slots_[at].hash == hash && texts_[slots_[at].id] == text) return StringId{slots_[at].id};
  const auto id = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(store(text));
  slots_[at] = {hash, id};
  if (texts_.size() * 2 > slots_.size()) grow();
  return StringId{id};
}

StringId StringPool::find(std::string_view text) const {
  if (text.empty()) return empty_string;
  const std::uint32_t hash = slot_hash(text);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask; slots_[at].id != 0; at = (at + 1) & mask)
    if (slots_[at].hash == hash && texts_[slots_[at].id] == text) return StringId{slots_[at].id};
  return empty_string;
}

std::vector<StringId> StringPool::merge(const StringPool& other) {
  std::vector<StringId> map(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) map[i] = intern(other.texts_[i]);
  return map;
}

std::size_t StringPool::bytes() const {
  return block_bytes_ + slots_.size() * sizeof(Slot) + texts_.capacity() * sizeof(std::string_view);
}

std::string_view StringPool::store(std::string_view text) {
  if (text.size() > block_left_) {
    const std::size_t size =
        std::max(std::clamp(block_bytes_, first_block, largest_block), text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    block_next_ = blocks_.back().get();
    block_left_ = size;
    block_bytes_ += size;
  }
  std::memcpy(block_next_, text.data(), text.size());
  const std::string_view kept(block_next_, text.size());
  block_next_ += text.size();
  block_left_ -= text.size();
  return kept;
}

void StringPool::grow() {
  std::vector<Slot> larger(slots_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id == 0) continue;
    std::size_t at = slot.hash & mask;
    while (larger[at].id != 0) at = (at + 1) & mask;
    larger[at] = slot;
  }
  slots_ = std::move(larger);
}

}  // namespace stepscope
