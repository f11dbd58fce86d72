// SPDX-License-Identifier: Apache-2.0
// Keys are found through a table indexed by a hash of their length and of three bytes; the table is
// built, and proven free of collisions, at compile time.
#include "stepscope/read/event_fields.h"

#include <cstddef>

namespace stepscope {
namespace {

struct Key {
  std::string_view text;
  Field field;
};

constexpr std::array event_keys = {
    Key{"ph", Field::ph},   Key{"cat", Field::cat}, Key{"name", Field::name},
    Key{"pid", Field::pid}, Key{"tid", Field::tid}, Key{"ts", Field::ts},
    Key{"dur", Field::dur}, Key{"id", Field::id},   Key{"args", Field::args}};

constexpr std::array arg_keys = {Key{"External id", Field::external_id},
                                 Key{"external id", Field::external_id},
                                 Key{"correlation", Field::correlation},
                                 Key{"device", Field::device},
                                 Key{"stream", Field::stream},
                                 Key{"context", Field::context},
                                 Key{"bytes", Field::bytes},
                                 Key{"Bytes", Field::bytes},
                                 Key{"Input Dims", Field::input_dims},
                                 Key{"Input dims", Field::input_dims},
                                 Key{"Input type", Field::input_types},
                                 Key{"Input Type", Field::input_types},
                                 Key{"Concrete Inputs", Field::concrete_inputs},
                                 Key{"Sequence number", Field::sequence},
                                 Key{"Fwd thread id", Field::forward_thread},
                                 Key{"Addr", Field::address},
                                 Key{"Total Allocated", Field::total_allocated},
                                 Key{"Total Reserved", Field::total_reserved},
                                 Key{"Device Id", Field::device_id},
                                 Key{"Device Type", Field::device_type},
                                 Key{"Collective name", Field::collective_name},
                                 Key{"dtype", Field::dtype},
                                 Key{"In msg nelems", Field::in_elements},
                                 Key{"Out msg nelems", Field::out_elements},
                                 Key{"In split size", Field::in_split},
                                 Key{"Out split size", Field::out_split},
                                 Key{"Process Group Name", Field::group_name},
                                 Key{"Process Group ID", Field::group_name},
                                 Key{"Process Group Description", Field::group_description},
                                 Key{"Process Group Ranks", Field::group_ranks},
                                 Key{"Group size", Field::group_size},
                                 Key{"Global rank start", Field::rank_start},
                                 Key{"Global rank stride", Field::rank_stride},
                                 Key{"Seq", Field::seq},
                                 Key{"Src Rank", Field::src_rank},
                                 Key{"Dst Rank", Field::dst_rank},
                                 Key{"Is asynchronized op", Field::is_async},
                                 Key{"wait_on_stream", Field::wait_on_stream},
                                 Key{"wait_on_cuda_event_record_corr_id", Field::wait_on_record},
                                 Key{"name", Field::arg_name},
                                 Key{"labels", Field::labels},
                                 Key{"size", Field::size},
                                 Key{"Rank", Field::rank}};

constexpr std::size_t table_size = 512;

constexpr std::size_t slot_of(std::string_view key) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(key[i]));
  };
  return (key.size() * 370 + byte(0) * 499 + byte(key.size() * 5 / 8) * 365 +
          byte(key.size() - 1) * 257) %
         table_size;
}

struct Table {
  std::array<std::int8_t, table_size> key{};
  bool collides = false;
};

template <std::size_t N>
constexpr Table make_table(const std::array<Key, N>& keys) {
  Table table;
  table.key.fill(unknown_field);
  for (std::size_t i = 0; i < N; ++i) {
    std::int8_t& slot = table.key[slot_of(keys[i].text)];
    if (slot != unknown_field) table.collides = true;
    slot = static_cast<std::int8_t>(i);
  }
  return table;
}

constexpr Table event_table = make_table(event_keys);
constexpr Table arg_table = make_table(arg_keys);
static_assert(!event_table.collides && !arg_table.collides, "choose other factors in slot_of");

template <std::size_t N>
int look_up(const std::array<Key, N>& keys, const Table& table, std::string_view key) {
  if (key.empty()) return unknown_field;
  const int at = table.key[slot_of(key)];
  if (at == unknown_field || keys[static_cast<std::size_t>(at)].text != key) return unknown_field;
  return static_cast<int>(keys[static_cast<std::size_t>(at)].field);
}

}  // namespace

int event_field(std::string_view key) { return look_up(event_keys, event_table, key); }
int arg_field(std::string_view key) { return look_up(arg_keys, arg_table, key); }

}  // namespace stepscope
