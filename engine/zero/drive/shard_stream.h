// SPDX-License-Identifier: Apache-2.0
// Streams columns of shards (shard_stores.h) through memory piece by piece. While one piece is
// processed, the next is being read and the previous one written.
//
//   stream.begin(reads, writes);       // the first pieces are on their way
//   auto piece = stream.take();        // waits until it is there
//   adamw(… piece->column[m] …);       // in place
//   stream.put_back();                 // begins to write it
//
// A pass sees the values that the previous pass left, so results have the same bits as without
// files. Nothing is allocated after construction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/zero/drive/shard_stores.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// Consecutive elements of one unit.
struct ShardPiece {
  std::size_t unit = 0;
  std::int64_t first = 0;  // of the unit's place
  std::int64_t count = 0;
  ByColumn<std::span<std::byte>> column{};  // the pass's columns; others are empty

  template <class T>
  [[nodiscard]] std::span<T> values(ShardColumn c) const {
    return {reinterpret_cast<T*>(column[at(c)].data()), column[at(c)].size() / sizeof(T)};
  }
};

class ShardStream {
 public:
  // The largest number of unfinished operations on a column.
  static constexpr int outstanding = 3;

  // `counts` are those of the files. Each of three buffers has at most `buffer` bytes. `memory` has
  // buffers_for() bytes, at a multiple of offload_alignment. `memory` and `stores` must outlive the
  // stream.
  ShardStream(ShardStores& stores, std::span<const std::int64_t> counts, Bytes buffer,
              std::span<std::byte> memory);
  [[nodiscard]] static Bytes buffers_for(const ShardColumns& columns,
                                         std::span<const std::int64_t> counts, Bytes buffer);

  // Begins a pass over all pieces, units ascending, that reads and writes the given columns. Begins
  // to read. Does nothing if the same pass has begun and no piece was taken yet.
  [[nodiscard]] Result<Done> begin(const ByColumn<bool>& reads, const ByColumn<bool>& writes);
  // Takes the next piece. Empty after the last piece; this ends the pass, but its writes continue.
  // Put each piece back before taking the next.
  [[nodiscard]] Result<std::optional<ShardPiece>> take();
  [[nodiscard]] Result<Done> put_back();
  // Waits for all unfinished operations. A pass without a taken piece is discarded.
  [[nodiscard]] Result<Done> settle();

  // Outside a pass: moves elements of one column of a unit, from `first` on. For checkpoints and
  // initial values.
  [[nodiscard]] Result<Done> read(ShardColumn column, std::size_t unit, std::int64_t first,
                                  std::span<std::byte> into);
  [[nodiscard]] Result<Done> write(ShardColumn column, std::size_t unit, std::int64_t first,
                                   std::span<const std::byte> values);

 private:
  static constexpr std::size_t buffers = 3;
  struct Place {  // of a piece
    std::size_t unit = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  struct Layout {
    std::vector<Place> places;
    ByColumn<std::uint64_t> column_at{};  // in a buffer
    std::uint64_t buffer = 0;
  };
  struct Slot {
    std::span<std::byte> buffer{};
    ByColumn<std::optional<ShardTicket>> reading{};
    ByColumn<std::optional<ShardTicket>> writing{};
  };
  [[nodiscard]] static Layout lay_out(const ShardColumns& columns,
                                      std::span<const std::int64_t> counts, Bytes buffer);
  [[nodiscard]] Slot& slot(std::size_t piece) { return slots_[piece % buffers]; }
  [[nodiscard]] Result<Done> begin_read(std::size_t piece);
  [[nodiscard]] Result<Done> read_ahead();  // of the next piece and the one after it
  [[nodiscard]] Result<Done> wait(ByColumn<std::optional<ShardTicket>>& tickets);
  // The part of a piece's column that the file moves: whole blocks.
  [[nodiscard]] std::span<std::byte> blocks(const Place& place, ShardColumn column,
                                            std::span<std::byte> buffer) const;
  template <class Move>
  [[nodiscard]] Result<Done> each_piece(ShardColumn column, std::size_t unit, std::int64_t first,
                                        std::int64_t bytes, bool write, Move move);

  ShardStores& stores_;
  Layout layout_;
  std::array<Slot, buffers> slots_;
  ByColumn<bool> reads_{};
  ByColumn<bool> writes_{};
  bool running_ = false;
  bool taken_ = false;
  std::size_t next_ = 0;   // to take
  std::size_t begun_ = 0;  // pieces [0, begun_) are being read or have been read
};

}  // namespace stepscope::zero
