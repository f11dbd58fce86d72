// SPDX-License-Identifier: Apache-2.0
// Columns of shards (shard_files.h) that pass through memory piece by piece: while a piece is
// worked on, the next is being read and the one before is being written.
//
//   stream.begin(reads, writes);       // the first pieces are on their way
//   auto piece = stream.take();        // waits until it is there
//   adamw(… piece->column[m] …);       // in place
//   stream.put_back();                 // begins to write it
//
// The values that a pass sees are those the last one left: results have the same bits as without
// files. Nothing is allocated after construction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/zero/drive/shard_files.h"

namespace stepscope::zero {

// Consecutive elements of one unit.
struct ShardPiece {
  std::size_t unit = 0;
  std::int64_t first = 0;  // of the unit's place
  std::int64_t count = 0;
  ByColumn<std::span<std::byte>> column{};  // of the pass's columns; others are empty

  template <class T>
  [[nodiscard]] std::span<T> values(ShardColumn c) const {
    return {reinterpret_cast<T*>(column[at(c)].data()), column[at(c)].size() / sizeof(T)};
  }
};

class ShardStream {
 public:
  // How many operations are under way on a column at most.
  static constexpr int outstanding = 3;

  // `counts` as the files were made; `buffer` bytes of one of three buffers, at most. `memory` of
  // buffers_for() bytes, at multiples of offload_alignment. It and `files` outlive the stream.
  ShardStream(ShardFiles& files, std::span<const std::int64_t> counts, Bytes buffer,
              std::span<std::byte> memory);
  [[nodiscard]] static Bytes buffers_for(const ShardColumns& columns,
                                         std::span<const std::int64_t> counts, Bytes buffer);

  // A pass over all pieces, units ascending: which columns it reads and which it writes. Begins to
  // read; nothing if the same pass has begun and no piece was taken yet.
  [[nodiscard]] Result<Done> begin(const ByColumn<bool>& reads, const ByColumn<bool>& writes);
  // The next piece; nothing after the last, which ends the pass (writes go on). Each is put back
  // before the next is taken.
  [[nodiscard]] Result<std::optional<ShardPiece>> take();
  [[nodiscard]] Result<Done> put_back();
  // Waits for all that is under way; a pass that has only begun is forgotten.
  [[nodiscard]] Result<Done> settle();

  // Outside a pass: elements of one column of a unit, from `first` on. Checkpoints, and initial
  // values.
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
  [[nodiscard]] Result<Done> read_ahead();  // of the next piece and the one behind it
  [[nodiscard]] Result<Done> wait(ByColumn<std::optional<ShardTicket>>& tickets);
  // Whole blocks: what the file moves. Of a piece's column.
  [[nodiscard]] std::span<std::byte> blocks(const Place& place, ShardColumn column,
                                            std::span<std::byte> buffer) const;
  template <class Move>
  [[nodiscard]] Result<Done> each_piece(ShardColumn column, std::size_t unit, std::int64_t first,
                                        std::int64_t bytes, bool write, Move move);

  ShardFiles& files_;
  Layout layout_;
  std::array<Slot, buffers> slots_;
  ByColumn<bool> reads_{};
  ByColumn<bool> writes_{};
  bool running_ = false;
  bool taken_ = false;
  std::size_t next_ = 0;   // to be taken
  std::size_t begun_ = 0;  // whose reading has begun: [0, begun_)
};

}  // namespace stepscope::zero
