// SPDX-License-Identifier: Apache-2.0
// A ring with the last named ranges of one thread, in memory that is reserved once. range.h records
// them, and they become slices of a trace. A full ring overwrites and counts the oldest ranges. One
// thread writes; the same thread, or another after it has ended, reads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/telemetry/fast_clock.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

enum class SpanKind : std::uint8_t { range, step, phase, operation, collective };
inline constexpr std::uint32_t no_span_row = 0xFFFFFFFF;

struct NamedSpan {
  std::array<char, 37> text{};  // start of the name, cut between characters
  std::uint8_t length = 0;
  std::uint8_t depth = 0;  // 0: outermost range
  SpanKind kind = SpanKind::range;
  std::uint32_t shape = no_span_row;   // row in a table of the caller, e.g. input shapes
  std::uint32_t detail = no_span_row;  // row in another table, e.g. collectives
  Ns begin{};
  Ns end{};
  [[nodiscard]] std::string_view name() const { return {text.data(), length}; }
};
static_assert(sizeof(NamedSpan) == 64);

class SpanRing {
 public:
  // Reserves `spans` ranges, at least one, of 64 bytes each.
  explicit SpanRing(std::size_t spans, ClockSource source = ClockSource::automatic)
      : clock_(source), spans_(std::max<std::size_t>(spans, 1)) {}

  // Opens a range and returns its depth, which close() needs.
  std::uint8_t open() { return depth_ < 255 ? depth_++ : depth_; }
  void close(std::string_view name, std::uint8_t depth, Ns begin, Ns end,
             SpanKind kind = SpanKind::range, std::uint32_t shape = no_span_row,
             std::uint32_t detail = no_span_row) {
    depth_ = depth;
    add(name, depth, begin, end, kind, shape, detail);
  }
  // Adds a finished range.
  void add(std::string_view name, std::uint8_t depth, Ns begin, Ns end, SpanKind kind,
           std::uint32_t shape = no_span_row, std::uint32_t detail = no_span_row) {
    NamedSpan& span = spans_[next_];
    span.kind = kind;
    span.shape = shape;
    span.detail = detail;
    span.length = static_cast<std::uint8_t>(whole_characters(name, span.text.size()));
    std::copy_n(name.begin(), span.length, span.text.begin());
    span.depth = depth;
    span.begin = begin;
    span.end = end;
    next_ = next_ + 1 == spans_.size() ? 0 : next_ + 1;
    ++closed_;
  }
  [[nodiscard]] std::uint8_t depth() const { return depth_; }
  [[nodiscard]] Ns now() const { return clock_.now(); }
  // Disciplines the clock to CLOCK_MONOTONIC; call it once a step.
  void discipline() { (void)clock_.discipline(); }

  // The kept ranges, in order of their ends.
  [[nodiscard]] std::vector<NamedSpan> spans() const;
  [[nodiscard]] std::uint64_t overwritten() const {
    return closed_ > spans_.size() ? closed_ - spans_.size() : 0;
  }
  void clear() { closed_ = next_ = 0; }

 private:
  // The length of the longest prefix up to `most` bytes that ends with a whole UTF-8 character.
  static std::size_t whole_characters(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text.size();
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
    return most;
  }

  FastClock clock_;
  std::vector<NamedSpan> spans_;
  std::size_t next_ = 0;
  std::uint64_t closed_ = 0;
  std::uint8_t depth_ = 0;
};

}  // namespace stepscope
