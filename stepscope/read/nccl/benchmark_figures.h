// SPDX-License-Identifier: Apache-2.0
// What the figures of a table of nccl-tests say of its collective and of its group. Two facts show
// it. busbw / algbw is the factor of the collective, (n - 1) / n or twice that for n ranks. The
// count of elements is one rank's where the ranks share the buffer: size = count x element x n.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "stepscope/base/collective_kind.h"

namespace stepscope {

struct BenchmarkFigures {
  bool reduces = false;
  bool rooted = false;
  bool blank = false;       // a column for the reduction, and none in the rows
  std::int64_t shares = 0;  // size / (count x element) of the largest count; 0: not known
  std::int64_t largest_count = 0;
  double least = 0;  // of busbw / algbw, as far as the printed digits say
  double most = std::numeric_limits<double>::infinity();
};

// Bytes of an element that nccl-tests names ("float", "bfloat16"); 0: no such name.
[[nodiscard]] int printed_type_bytes(std::string_view type);

// Takes one row's figures, as printed.
void take_shares(std::int64_t size, std::int64_t count, int element, BenchmarkFigures& figures);
void take_factor(std::string_view algbw, std::string_view busbw, BenchmarkFigures& figures);

// Where the words of a row without titles lie. A row of nccl-tests shows itself: its algbw is the
// size over the time, out of place and in place. 0: the row does not.
struct RowPlaces {
  std::size_t redop = 0;  // 0: no such column
  std::size_t root = 0;
  std::size_t times[2] = {0, 0};  // of time, which algbw and busbw follow
};
[[nodiscard]] RowPlaces places_in_row(std::span<const std::string_view> words);

// By reduction, root, factor and shares. All-gather and all-to-all look alike, so do gather and
// scatter: unknown. `ranks`: 0 if they are not known.
[[nodiscard]] CollectiveKind kind_by_figures(const BenchmarkFigures& figures, int ranks);

// Whether a group of this size may have these figures.
[[nodiscard]] bool may_be_of(const BenchmarkFigures& figures, CollectiveKind kind, int ranks);

// The only group size that the figures allow; 0: there are several, or none.
[[nodiscard]] int ranks_by_figures(const BenchmarkFigures& figures, CollectiveKind kind);

}  // namespace stepscope
