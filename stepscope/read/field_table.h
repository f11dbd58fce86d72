// SPDX-License-Identifier: Apache-2.0
// Which Field a key is: looked up for each member of each event, hence inline. Keys are found
// through a table indexed by a hash of their length and of three bytes; the tables are built, and
// proven free of collisions, at compile time. Today's and the old spellings ("External id",
// "external id").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "stepscope/read/event_fields.h"

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

class FieldTable {
 public:
  template <std::size_t N>
  constexpr explicit FieldTable(const std::array<FieldKey, N>& keys) {
    for (const FieldKey& key : keys) {
      Entry& entry = entries_[slot_of(key.text)];
      if (entry.text != nullptr) collides_ = true;
      entry = {key.text.data(), static_cast<std::uint32_t>(key.text.size()),
               static_cast<std::int32_t>(key.field)};
    }
  }
  [[nodiscard]] constexpr bool collides() const { return collides_; }

  // The Field of `key`, or unknown_field.
  [[nodiscard]] int find(std::string_view key) const {
    if (key.empty()) return unknown_field;
    const Entry& entry = entries_[slot_of(key)];
    return entry.size == key.size() && same_bytes(entry.text, key.data(), key.size())
               ? entry.field
               : unknown_field;
  }

 private:
  struct Entry {
    const char* text = nullptr;
    std::uint32_t size = 0;
    std::int32_t field = unknown_field;
  };
  static constexpr std::size_t slots = 512;

  static constexpr std::size_t slot_of(std::string_view key) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(key[i]));
    };
    return (key.size() * 370 + byte(0) * 499 + byte(key.size() * 5 / 8) * 365 +
            byte(key.size() - 1) * 257) %
           slots;
  }

  // memcmp's call costs more than comparing so few bytes: two words that may overlap cover them.
  template <class Word>
  static bool same_ends(const char* a, const char* b, std::size_t size) {
    Word words[4];
    std::memcpy(&words[0], a, sizeof(Word));
    std::memcpy(&words[1], b, sizeof(Word));
    std::memcpy(&words[2], a + size - sizeof(Word), sizeof(Word));
    std::memcpy(&words[3], b + size - sizeof(Word), sizeof(Word));
    return ((words[0] ^ words[1]) | (words[2] ^ words[3])) == 0;
  }
  static bool same_bytes(const char* a, const char* b, std::size_t size) {
    if (size > 16) return std::memcmp(a, b, size) == 0;
    if (size >= 8) return same_ends<std::uint64_t>(a, b, size);
    if (size >= 4) return same_ends<std::uint32_t>(a, b, size);
    return a[0] == b[0] && a[size / 2] == b[size / 2] && a[size - 1] == b[size - 1];
  }

  std::array<Entry, slots> entries_{};
  bool collides_ = false;
};

inline constexpr FieldTable event_fields(event_keys);
inline constexpr FieldTable arg_fields(arg_keys);
static_assert(!event_fields.collides() && !arg_fields.collides(),
              "choose other factors in slot_of");

}  // namespace stepscope
