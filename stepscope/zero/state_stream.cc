// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/state_stream.h"

#include <algorithm>
#include <utility>

namespace stepscope::zero {
namespace {

// Arrays of a piece begin at multiples of 64 bytes.
constexpr std::int64_t array_step = 16;
std::int64_t stride_of(std::int64_t count) {
  return (count + array_step - 1) / array_step * array_step;
}

}  // namespace

std::vector<StateStream::Place> StateStream::lay_out(const StateStreamOptions& options,
                                                     std::span<const std::int64_t> counts) {
  const std::int64_t arrays = options.master ? 3 : 2;
  const std::int64_t fit = options.buffer.value / (arrays * std::int64_t{sizeof(float)});
  const std::int64_t most = std::max(array_step, fit / array_step * array_step);
  std::vector<Place> places;
  std::uint64_t offset = 0;
  for (std::size_t unit = 0; unit < counts.size(); ++unit) {
    for (std::int64_t first = 0; first < counts[unit]; first += most) {
      const std::int64_t count = std::min(most, counts[unit] - first);
      const std::uint64_t bytes =
          offload_aligned(static_cast<std::uint64_t>(arrays * stride_of(count)) * sizeof(float));
      places.push_back({.unit = unit,
                        .first = first,
                        .count = count,
                        .last_of_unit = first + count == counts[unit],
                        .offset = offset,
                        .bytes = bytes});
      offset += bytes;
    }
  }
  return places;
}

Bytes StateStream::buffers_for(const StateStreamOptions& options,
                               std::span<const std::int64_t> counts) {
  std::uint64_t largest = 0;
  for (const Place& place : lay_out(options, counts)) largest = std::max(largest, place.bytes);
  return {static_cast<std::int64_t>(buffers * largest)};
}

Result<StateStream> StateStream::create(const StateStreamOptions& options,
                                        std::span<const std::int64_t> counts,
                                        std::span<std::byte> memory) {
  std::vector<Place> places = lay_out(options, counts);
  const std::uint64_t bytes = places.empty() ? 0 : places.back().offset + places.back().bytes;
  const auto all = static_cast<std::size_t>(buffers_for(options, counts).value);
  // At once: the reading of the next piece and the writing of the two before.
  auto file = OffloadFile::create({.dir = options.dir,
                                   .bytes = {static_cast<std::int64_t>(bytes)},
                                   .outstanding = static_cast<int>(buffers),
                                   .io_uring = options.io_uring,
                                   .direct = options.direct});
  if (!file) return file.error();
  StateStream stream(memory.empty() ? OffloadBuffer(all) : OffloadBuffer(), *std::move(file),
                     options.master);
  if (memory.empty()) memory = stream.own_.bytes();
  check(memory.size() >= all, "the buffers hold the largest piece");
  for (std::size_t i = 0; i < buffers; ++i)
    stream.slots_[i].buffer = memory.subspan(i * (all / buffers), all / buffers);
  stream.places_ = std::move(places);
  return stream;
}

StatePiece StateStream::piece_of(const Place& place, std::span<std::byte> buffer) const {
  const auto stride = static_cast<std::size_t>(stride_of(place.count));
  const auto count = static_cast<std::size_t>(place.count);
  auto* const floats = reinterpret_cast<float*>(buffer.data());
  const std::size_t m = master_ ? stride : 0;
  return {.unit = place.unit,
          .first = place.first,
          .count = place.count,
          .last_of_unit = place.last_of_unit,
          .master = {floats, master_ ? count : 0},
          .m = {floats + m, count},
          .v = {floats + m + stride, count}};
}

// Its buffer held the piece three before.
Result<Done> StateStream::begin_read(std::size_t piece) {
  Slot& s = slot(piece);
  if (s.writing) {
    if (auto done = file_.wait(*std::exchange(s.writing, std::nullopt)); !done) return done;
  }
  const Place& place = places_[piece];
  const auto ticket = file_.read(place.offset, s.buffer.first(place.bytes));
  if (!ticket) return ticket.error();
  s.reading = *ticket;
  return Done{};
}

Result<Done> StateStream::finish_writes() {
  Result<Done> result = Done{};
  for (Slot& s : slots_) {
    if (!s.writing) continue;
    if (auto done = file_.wait(*std::exchange(s.writing, std::nullopt)); !done && result)
      result = std::move(done);
  }
  return result;
}

Result<std::optional<StatePiece>> StateStream::take() {
  check(!taken_, "a piece is put back before the next is taken");
  if (next_ == places_.size()) {
    next_ = 0;
    if (auto done = finish_writes(); !done) return done.error();
    return std::optional<StatePiece>{};
  }
  Slot& s = slot(next_);
  if (!s.reading) {
    if (auto begun = begin_read(next_); !begun) return begun.error();
  }
  if (next_ + 1 < places_.size()) {
    if (auto begun = begin_read(next_ + 1); !begun) return begun.error();
  }
  if (auto done = file_.wait(*std::exchange(s.reading, std::nullopt)); !done) return done.error();
  taken_ = true;
  return std::optional(piece_of(places_[next_], s.buffer));
}

bool StateStream::ready() {
  if (next_ == places_.size()) {
    return std::ranges::all_of(slots_,
                               [&](const Slot& s) { return !s.writing || file_.test(*s.writing); });
  }
  const Slot& s = slot(next_);
  return s.reading && file_.test(*s.reading);
}

Result<Done> StateStream::put_back() {
  check(taken_, "a piece that was taken is put back");
  const Place& place = places_[next_];
  Slot& s = slot(next_);
  const auto ticket = file_.write(place.offset, s.buffer.first(place.bytes));
  if (!ticket) return ticket.error();
  s.writing = *ticket;
  taken_ = false;
  ++next_;
  return Done{};
}

template <class Move>
Result<Done> StateStream::each_piece(std::size_t unit, std::int64_t first, std::int64_t count,
                                     bool write, Move move) {
  check(next_ == 0 && !taken_, "no step is under way");
  const std::span<std::byte> buffer = slots_[0].buffer;
  const std::int64_t end = first + count;
  for (const Place& place : places_) {
    const std::int64_t from = std::max(first, place.first);
    const std::int64_t to = std::min(end, place.first + place.count);
    if (place.unit != unit || from >= to) continue;
    const auto bytes = buffer.first(place.bytes);
    auto ticket = file_.read(place.offset, bytes);
    if (!ticket) return ticket.error();
    if (auto done = file_.wait(*ticket); !done) return done;
    move(piece_of(place, buffer), from - place.first, from - first, to - from);
    if (!write) continue;
    ticket = file_.write(place.offset, bytes);
    if (!ticket) return ticket.error();
    if (auto done = file_.wait(*ticket); !done) return done;
  }
  return Done{};
}

namespace {

std::span<float> part_of(const StatePiece& piece, StatePart part) {
  if (part == StatePart::master) return piece.master;
  return part == StatePart::m ? piece.m : piece.v;
}

}  // namespace

Result<Done> StateStream::read(std::size_t unit, StatePart part, std::int64_t first,
                               std::span<float> into) {
  check(master_ || part != StatePart::master, "master weights are in the file");
  return each_piece(
      unit, first, std::ssize(into), false,
      [&](const StatePiece& piece, std::int64_t from, std::int64_t to, std::int64_t n) {
        std::copy_n(part_of(piece, part).begin() + from, n, into.begin() + to);
      });
}

Result<Done> StateStream::write(std::size_t unit, StatePart part, std::int64_t first,
                                std::span<const float> values) {
  check(master_ || part != StatePart::master, "master weights are in the file");
  return each_piece(
      unit, first, std::ssize(values), true,
      [&](const StatePiece& piece, std::int64_t to, std::int64_t from, std::int64_t n) {
        std::copy_n(values.begin() + from, n, part_of(piece, part).begin() + to);
      });
}

Bytes StateStream::buffer_bytes() const {
  Bytes all{};
  for (const Slot& s : slots_) all += {static_cast<std::int64_t>(s.buffer.size())};
  return all;
}

}  // namespace stepscope::zero
