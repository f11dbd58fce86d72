// SPDX-License-Identifier: Apache-2.0
// Optimizer states (m and v, and master weights where parameters are narrower) that live in a file
// and pass through memory once a step: while a piece is updated, the next is being read and the one
// before is being written.
//
//   auto piece = states.take();      // waits until it is there
//   adamw(… piece->m …);             // in place
//   states.put_back();               // begins to write it
//
// The values that an update sees are those the last one left: results have the same bits as without
// a file. Nothing is allocated after create().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/zero/offload_file.h"
#include "stepscope/zero/rank_file.h"

namespace stepscope::zero {

struct StateStreamOptions {
  std::string dir{};       // where the file is made
  Bytes buffer{12 << 20};  // of one of the three buffers, at most
  bool master = true;      // hold master weights too
  bool io_uring = true;
  bool direct = true;
};

// Consecutive elements of one unit.
struct StatePiece {
  std::size_t unit = 0;
  std::int64_t first = 0;  // of the elements that this rank holds of the unit
  std::int64_t count = 0;
  bool last_of_unit = false;
  std::span<float> master{};  // empty without master weights
  std::span<float> m{};
  std::span<float> v{};
};

class StateStream {
 public:
  // For counts[u] elements of each unit u, all zero. The buffers are `memory`, of buffers_for()
  // bytes and aligned for the file, or its own where that is empty. Errors: those of
  // OffloadFile::create().
  [[nodiscard]] static Result<StateStream> create(const StateStreamOptions& options,
                                                  std::span<const std::int64_t> counts,
                                                  std::span<std::byte> memory = {});
  [[nodiscard]] static Bytes buffers_for(const StateStreamOptions& options,
                                         std::span<const std::int64_t> counts);

  // The pieces of a step, one after the other, units ascending; nothing after the last, and the
  // next call begins again. Each is put back before the next is taken.
  [[nodiscard]] Result<std::optional<StatePiece>> take();
  [[nodiscard]] Result<Done> put_back();
  // Whether take() would return at once.
  [[nodiscard]] bool ready();

  // Outside a step: elements [first, first + size) of one part of a unit. Checkpoints, and initial
  // values.
  [[nodiscard]] Result<Done> read(std::size_t unit, StatePart part, std::int64_t first,
                                  std::span<float> into);
  [[nodiscard]] Result<Done> write(std::size_t unit, StatePart part, std::int64_t first,
                                   std::span<const float> values);

  // What a step moves each way, with the padding of pieces to whole blocks of the device.
  [[nodiscard]] Bytes step_bytes() const { return file_.size(); }
  // The memory of all buffers.
  [[nodiscard]] Bytes buffer_bytes() const;
  [[nodiscard]] const std::string& description() const { return file_.description(); }

 private:
  static constexpr std::size_t buffers = 3;
  struct Place {  // of a piece
    std::size_t unit = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool last_of_unit = false;
    std::uint64_t offset = 0;  // in the file
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] static std::vector<Place> lay_out(const StateStreamOptions& options,
                                                  std::span<const std::int64_t> counts);
  struct Slot {
    std::span<std::byte> buffer{};
    std::optional<OffloadTicket> reading{};
    std::optional<OffloadTicket> writing{};
  };
  StateStream(OffloadBuffer own, OffloadFile file, bool master)
      : own_(std::move(own)), file_(std::move(file)), master_(master) {}
  [[nodiscard]] Slot& slot(std::size_t piece) { return slots_[piece % buffers]; }
  [[nodiscard]] Result<Done> begin_read(std::size_t piece);
  [[nodiscard]] Result<Done> finish_writes();
  [[nodiscard]] StatePiece piece_of(const Place& place, std::span<std::byte> buffer) const;
  template <class Move>
  [[nodiscard]] Result<Done> each_piece(std::size_t unit, std::int64_t first, std::int64_t count,
                                        bool write, Move move);

  OffloadBuffer own_;
  OffloadFile file_;  // its operations end before their memory does
  bool master_ = true;
  std::vector<Place> places_;
  std::array<Slot, buffers> slots_;
  std::size_t next_ = 0;  // to be taken
  bool taken_ = false;
};

}  // namespace stepscope::zero
