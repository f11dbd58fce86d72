// SPDX-License-Identifier: Apache-2.0
// Interned strings. Each distinct text is stored once and has a dense 32-bit id, so analyses index
// plain vectors by id. Id 0 is the empty string. Not thread-safe: parallel readers fill one pool
// each and merge().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace stepscope {

enum class StringId : std::uint32_t {};
constexpr std::uint32_t index(StringId id) { return static_cast<std::uint32_t>(id); }
constexpr StringId empty_string{0};

// A hash of the text. Every build gives the same one, unlike std::hash: where hashes decide an
// order, the result is the same with every standard library.
[[nodiscard]] std::uint64_t text_hash(std::string_view text);

class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) noexcept = default;
  StringPool& operator=(StringPool&&) noexcept = default;
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

  StringId intern(std::string_view text);
  // The id of an interned text, or empty_string if it is not interned.
  [[nodiscard]] StringId find(std::string_view text) const;
  // Valid while the pool lives.
  [[nodiscard]] std::string_view operator[](StringId id) const { return texts_[index(id)]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  // Interns all texts of `other`. Element i of the result is the id here of other's id i.
  std::vector<StringId> merge(const StringPool& other);
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = 0;  // 0 = free: the empty string never enters the table
  };
  std::string_view store(std::string_view text);
  void grow();

  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_left_ = 0;
  char* block_next_ = nullptr;
  std::size_t block_bytes_ = 0;
};

}  // namespace stepscope
