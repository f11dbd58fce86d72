// SPDX-License-Identifier: Apache-2.0
// Finds the Field of a key. It runs for each member of each event, so it is inline. A hash of a
// key's first 16 bytes indexes the table. The tables are built, and proven free of collisions, at
// compile time. They hold today's and the old spellings ("External id", "external id").
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

struct FieldKey {
  std::string_view text;
  Field field;
};

inline constexpr std::array event_keys = {
    FieldKey{"ph", Field::ph},   FieldKey{"cat", Field::cat}, FieldKey{"name", Field::name},
    FieldKey{"pid", Field::pid}, FieldKey{"tid", Field::tid}, FieldKey{"ts", Field::ts},
    FieldKey{"dur", Field::dur}, FieldKey{"id", Field::id},   FieldKey{"args", Field::args}};

inline constexpr std::array arg_keys = {
    FieldKey{"External id", Field::external_id},
    FieldKey{"external id", Field::external_id},
    FieldKey{"correlation", Field::correlation},
    FieldKey{"device", Field::device},
    FieldKey{"stream", Field::stream},
    FieldKey{"context", Field::context},
    FieldKey{"bytes", Field::bytes},
    FieldKey{"Bytes", Field::bytes},
    FieldKey{"Input Dims", Field::input_dims},
    FieldKey{"Input dims", Field::input_dims},
    FieldKey{"Input type", Field::input_types},
    FieldKey{"Input Type", Field::input_types},
    FieldKey{"Concrete Inputs", Field::concrete_inputs},
    FieldKey{"Sequence number", Field::sequence},
    FieldKey{"Fwd thread id", Field::forward_thread},
    FieldKey{"Addr", Field::address},
    FieldKey{"Total Allocated", Field::total_allocated},
    FieldKey{"Total Reserved", Field::total_reserved},
    FieldKey{"Device Id", Field::device_id},
    FieldKey{"Device Type", Field::device_type},
    FieldKey{"Collective name", Field::collective_name},
    FieldKey{"dtype", Field::dtype},
    FieldKey{"In msg nelems", Field::in_elements},
    FieldKey{"Out msg nelems", Field::out_elements},
    FieldKey{"In split size", Field::in_split},
    FieldKey{"Out split size", Field::out_split},
    FieldKey{"Process Group Name", Field::group_name},
    FieldKey{"Process Group ID", Field::group_name},
    FieldKey{"Process Group Description", Field::group_description},
    FieldKey{"Process Group Ranks", Field::group_ranks},
    FieldKey{"Group size", Field::group_size},
    FieldKey{"Global rank start", Field::rank_start},
    FieldKey{"Global rank stride", Field::rank_stride},
    FieldKey{"Seq", Field::seq},
    FieldKey{"Src Rank", Field::src_rank},
    FieldKey{"Dst Rank", Field::dst_rank},
    FieldKey{"Is asynchronized op", Field::is_async},
    FieldKey{"wait_on_stream", Field::wait_on_stream},
    FieldKey{"wait_on_cuda_event_record_corr_id", Field::wait_on_record},
    FieldKey{"name", Field::arg_name},
    FieldKey{"labels", Field::labels},
    FieldKey{"size", Field::size},
    FieldKey{"Rank", Field::rank}};

// The first 16 bytes of a key as two words, padded with zeros.
struct KeyWords {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const KeyWords&) const = default;
};
inline constexpr std::size_t key_words_bytes = sizeof(KeyWords);

class FieldTable {
 public:
  template <std::size_t N>
  constexpr explicit FieldTable(const std::array<FieldKey, N>& keys) {
    for (const FieldKey& key : keys) {
      KeyWords words;
      for (std::size_t i = 0; i < std::min(key.text.size(), key_words_bytes); ++i)
        (i < 8 ? words.low : words.high) |=
            static_cast<std::uint64_t>(static_cast<unsigned char>(key.text[i])) << i % 8 * 8;
      Entry& entry = entries_[slot_of(words)];
      if (entry.field != unknown_field) collides_ = true;
      entry = {words, key.text, static_cast<int>(key.field)};
    }
  }
  [[nodiscard]] constexpr bool collides() const { return collides_; }

  // The Field of `key`, or unknown_field.
  [[nodiscard]] int find(std::string_view key) const {
    std::array<char, key_words_bytes> padded{};
    if (key.size() >= padded.size()) return find_padded(key);
    std::copy(key.begin(), key.end(), padded.begin());
    return find_padded({padded.data(), key.size()});
  }
  // The same for a key with 16 readable bytes at its start. No branch depends on its length.
  [[nodiscard]] int find_padded(std::string_view key) const {
    KeyWords words;
    std::memcpy(&words, key.data(), sizeof words);
    const std::size_t size = std::min(key.size(), key_words_bytes);
    words.low &= masks[std::min<std::size_t>(size, 8)];
    words.high &= masks[std::max<std::size_t>(size, 8) - 8];
    const Entry& entry = entries_[slot_of(words)];
    if (entry.words != words || entry.text.size() != key.size()) return unknown_field;
    if (key.size() > key_words_bytes && entry.text != key) return unknown_field;
    return entry.field;
  }

 private:
  struct Entry {
    KeyWords words;
    std::string_view text;
    int field = unknown_field;
  };
  static constexpr int slot_bits = 9;
  static constexpr std::array<std::uint64_t, 9> masks = {0,
                                                         0xff,
                                                         0xffff,
                                                         0xffffff,
                                                         0xffffffff,
                                                         0xffffffffff,
                                                         0xffffffffffff,
                                                         0xffffffffffffff,
                                                         0xffffffffffffffff};

  static constexpr std::size_t slot_of(const KeyWords& words) {
    return static_cast<std::size_t>(
        (words.low * 0xF2A74DE452E6B439ULL + words.high * 0x6513270E269E0D37ULL) >>
        (64 - slot_bits));
  }

  std::array<Entry, std::size_t{1} << slot_bits> entries_{};
  bool collides_ = false;
};

inline constexpr FieldTable event_fields(event_keys);
inline constexpr FieldTable arg_fields(arg_keys);
static_assert(!event_fields.collides() && !arg_fields.collides(),
              "choose other factors in slot_of");

}  // namespace stepscope
