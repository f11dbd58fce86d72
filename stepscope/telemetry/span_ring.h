// SPDX-License-Identifier: Apache-2.0
// The last named ranges of one thread, in memory that is set aside once: what range.h records and
// what becomes slices of a trace. When the ring is full the oldest ranges are overwritten and
// counted. One thread writes; it, or another after it has ended, reads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/telemetry/fast_clock.h"

namespace stepscope {

enum class SpanKind : std::uint8_t { range, step, phase, operation, collective };
inline constexpr std::uint32_t no_span_row = 0xFFFFFFFF;

struct NamedSpan {
  std::array<char, 37> text{};  // the name's first bytes, cut between characters
  std::uint8_t length = 0;
  std::uint8_t depth = 0;  // 0: in no other range
  SpanKind kind = SpanKind::range;
  std::uint32_t shape = no_span_row;   // row of a table of the caller's, e.g. of input shapes
  std::uint32_t detail = no_span_row;  // of another, e.g. of collectives
  Ns begin{};
  Ns end{};
  [[nodiscard]] std::string_view name() const { return {text.data(), length}; }
};
static_assert(sizeof(NamedSpan) == 64);

class SpanRing {
 public:
  // 64 bytes each; at least one.
  explicit SpanRing(std::size_t spans, ClockSource source = ClockSource::automatic)
      : clock_(source), spans_(std::max<std::size_t>(spans, 1)) {}

  // Opens a range; its depth goes back to close().
  std::uint8_t open() { return depth_ < 255 ? depth_++ : depth_; }
  void close(std::string_view name, std::uint8_t depth, Ns begin, Ns end,
             SpanKind kind = SpanKind::range, std::uint32_t shape = no_span_row,
             std::uint32_t detail = no_span_row) {
    depth_ = depth;
    add(name, depth, begin, end, kind, shape, detail);
  }
  // A range that is over, as it was.
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
  // Keeps the clock to CLOCK_MONOTONIC; once a step.
  void discipline() { (void)clock_.discipline(); }

  // Those that are kept, in the order in which they ended.
  [[nodiscard]] std::vector<NamedSpan> spans() const;
  [[nodiscard]] std::uint64_t overwritten() const {
    return closed_ > spans_.size() ? closed_ - spans_.size() : 0;
  }
  void clear() { closed_ = next_ = 0; }

 private:
  // How many of the first `most` bytes end with a whole UTF-8 character.
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
