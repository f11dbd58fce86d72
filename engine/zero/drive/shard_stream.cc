// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/shard_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stepscope::zero {
namespace {

// Pieces begin at whole blocks of each column, for every width.
constexpr std::int64_t piece_step = static_cast<std::int64_t>(offload_alignment) / 2;

}  // namespace

ShardStream::Layout ShardStream::lay_out(const ShardColumns& columns,
                                         std::span<const std::int64_t> counts, Bytes buffer) {
  std::int64_t element = 0;
  for (const ShardColumn column : shard_columns)
    if (columns.has(column)) element += columns.bytes(column);
  Layout layout;
  if (element == 0) return layout;
  const std::int64_t fit = buffer.value / element;
  const std::int64_t most = std::max(piece_step, fit / piece_step * piece_step);
  std::int64_t longest = 0;
  for (std::size_t unit = 0; unit < counts.size(); ++unit) {
    for (std::int64_t first = 0; first < counts[unit]; first += most) {
      const std::int64_t count = std::min(most, counts[unit] - first);
      layout.places.push_back({.unit = unit, .first = first, .count = count});
      longest = std::max(longest, count);
    }
  }
  for (const ShardColumn column : shard_columns) {
    if (!columns.has(column)) continue;
    layout.column_at[at(column)] = layout.buffer;
    layout.buffer += offload_aligned(static_cast<std::uint64_t>(longest * columns.bytes(column)));
  }
  return layout;
}

Bytes ShardStream::buffers_for(const ShardColumns& columns, std::span<const std::int64_t> counts,
                               Bytes buffer) {
  return {static_cast<std::int64_t>(buffers * lay_out(columns, counts, buffer).buffer)};
}

ShardStream::ShardStream(ShardStores& stores, std::span<const std::int64_t> counts, Bytes buffer,
                         std::span<std::byte> memory)
    : stores_(stores), layout_(lay_out(stores.columns(), counts, buffer)) {
  check(memory.size() >= buffers * layout_.buffer, "the buffers hold the largest piece");
  for (std::size_t i = 0; i < buffers; ++i)
    slots_[i].buffer = memory.subspan(i * layout_.buffer, layout_.buffer);
}

std::span<std::byte> ShardStream::blocks(const Place& place, ShardColumn column,
                                         std::span<std::byte> buffer) const {
  const std::int64_t bytes = place.count * stores_.columns().bytes(column);
  return buffer.subspan(layout_.column_at[at(column)],
                        offload_aligned(static_cast<std::uint64_t>(bytes)));
}

Result<Done> ShardStream::wait(ByColumn<std::optional<ShardTicket>>& tickets) {
  Result<Done> result = Done{};
  for (auto& ticket : tickets) {
    if (!ticket) continue;
    if (auto done = stores_.wait(*std::exchange(ticket, std::nullopt)); !done && result)
      result = std::move(done);
  }
  return result;
}

// A piece always uses the same buffer, so wait here for the previous pass's write of it.
Result<Done> ShardStream::begin_read(std::size_t piece) {
  Slot& s = slot(piece);
  if (auto done = wait(s.writing); !done) return done;
  const Place& place = layout_.places[piece];
  for (const ShardColumn column : shard_columns) {
    if (!reads_[at(column)]) continue;
    auto ticket = stores_.read(column, place.unit, place.first, blocks(place, column, s.buffer));
    if (!ticket) return ticket.error();
    s.reading[at(column)] = *ticket;
  }
  return Done{};
}

Result<Done> ShardStream::begin(const ByColumn<bool>& reads, const ByColumn<bool>& writes) {
  check(!taken_ && next_ == 0, "a pass begins after the one before");
  if (running_ && reads == reads_ && writes == writes_) return Done{};
  if (auto done = settle(); !done) return done;
  reads_ = reads;
  writes_ = writes;
  running_ = true;
  return read_ahead();
}

Result<Done> ShardStream::read_ahead() {
  const std::size_t end = std::min(next_ + 2, layout_.places.size());
  while (begun_ < end) {
    if (auto done = begin_read(begun_); !done) return done;
    ++begun_;
  }
  return Done{};
}

Result<std::optional<ShardPiece>> ShardStream::take() {
  check(running_ && !taken_, "a piece is put back before the next is taken");
  if (next_ == layout_.places.size()) {
    next_ = begun_ = 0;
    running_ = false;
    return std::optional<ShardPiece>{};
  }
  if (auto begun = read_ahead(); !begun) return begun.error();
  Slot& s = slot(next_);
  if (auto done = wait(s.reading); !done) return done.error();
  taken_ = true;
  const Place& place = layout_.places[next_];
  ShardPiece piece{.unit = place.unit, .first = place.first, .count = place.count};
  for (const ShardColumn column : shard_columns) {
    if (!reads_[at(column)] && !writes_[at(column)]) continue;
    piece.column[at(column)] =
        s.buffer.subspan(layout_.column_at[at(column)],
                         static_cast<std::size_t>(place.count * stores_.columns().bytes(column)));
  }
  return std::optional(piece);
}

Result<Done> ShardStream::put_back() {
  check(taken_, "a piece that was taken is put back");
  const Place& place = layout_.places[next_];
  Slot& s = slot(next_);
  for (const ShardColumn column : shard_columns) {
    if (!writes_[at(column)]) continue;
    auto ticket = stores_.write(column, place.unit, place.first, blocks(place, column, s.buffer));
    if (!ticket) return ticket.error();
    s.writing[at(column)] = *ticket;
  }
  taken_ = false;
  ++next_;
  return Done{};
}

Result<Done> ShardStream::settle() {
  Result<Done> result = Done{};
  for (Slot& s : slots_) {
    for (auto* tickets : {&s.reading, &s.writing}) {
      if (auto done = wait(*tickets); !done && result) result = std::move(done);
    }
  }
  running_ = taken_ = false;
  next_ = begun_ = 0;
  return result;
}

template <class Move>
Result<Done> ShardStream::each_piece(ShardColumn column, std::size_t unit, std::int64_t first,
                                     std::int64_t bytes, bool write, Move move) {
  if (auto done = settle(); !done) return done;
  const std::int64_t size = stores_.columns().bytes(column);
  const std::int64_t end = first + bytes / size;
  for (const Place& place : layout_.places) {
    const std::int64_t from = std::max(first, place.first);
    const std::int64_t to = std::min(end, place.first + place.count);
    if (place.unit != unit || from >= to) continue;
    const auto memory = blocks(place, column, slots_[0].buffer);
    if (!write || to - from < place.count) {
      auto ticket = stores_.read(column, unit, place.first, memory);
      if (!ticket) return ticket.error();
      if (auto done = stores_.wait(*ticket); !done) return done;
    }
    move(memory.data() + (from - place.first) * size, (from - first) * size, (to - from) * size);
    if (!write) continue;
    auto ticket = stores_.write(column, unit, place.first, memory);
    if (!ticket) return ticket.error();
    if (auto done = stores_.wait(*ticket); !done) return done;
  }
  return Done{};
}

Result<Done> ShardStream::read(ShardColumn column, std::size_t unit, std::int64_t first,
                               std::span<std::byte> into) {
  return each_piece(column, unit, first, std::ssize(into), false,
                    [&](const std::byte* from, std::int64_t to, std::int64_t bytes) {
                      std::memcpy(into.data() + to, from, static_cast<std::size_t>(bytes));
                    });
}

Result<Done> ShardStream::write(ShardColumn column, std::size_t unit, std::int64_t first,
                                std::span<const std::byte> values) {
  return each_piece(column, unit, first, std::ssize(values), true,
                    [&](std::byte* to, std::int64_t from, std::int64_t bytes) {
                      std::memcpy(to, values.data() + from, static_cast<std::size_t>(bytes));
                    });
}

}  // namespace stepscope::zero
