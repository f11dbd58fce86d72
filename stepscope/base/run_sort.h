// SPDX-License-Identifier: Apache-2.0
// A stable sort for rows that are nearly in order. Recorded rows are: rows of one thread are
// ordered by their ends, and several streams follow one another. A row that is a few places late is
// moved there. A later row begins a new run, and neighbouring runs are merged pass by pass. Sorted
// rows take one scan, others O(N log N); memory for the shorter of two runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace stepscope {

namespace run_sort_detail {

inline constexpr std::ptrdiff_t longest_way = 16;

// Arranges `rows` into sorted runs and returns where the runs begin.
template <class Iterator, class Less>
std::vector<Iterator> make_runs(Iterator first, Iterator last, Less& less) {
  std::vector<Iterator> runs{first};
  if (first == last) return runs;
  for (Iterator at = first + 1; at != last; ++at) {
    if (!less(*at, *(at - 1))) continue;
    const Iterator limit = at - std::min(at - runs.back(), longest_way);
    Iterator place = at - 1;
    while (place != limit && less(*at, *(place - 1))) --place;
    if (place == limit && limit != runs.back()) {
      runs.push_back(at);
    } else {
      auto row = std::move(*at);
      std::move_backward(place, at, at + 1);
      *place = std::move(row);
    }
  }
  return runs;
}

}  // namespace run_sort_detail

template <class Rows, class Less>
void run_sort(Rows& rows, Less less) {
  auto runs = run_sort_detail::make_runs(std::begin(rows), std::end(rows), less);
  while (runs.size() > 1) {
    std::size_t kept = 0;
    for (std::size_t r = 0; r < runs.size(); r += 2) {
      if (r + 1 < runs.size()) {
        const auto middle = runs[r + 1];
        const auto last = r + 2 < runs.size() ? runs[r + 2] : std::end(rows);
        const auto first = std::upper_bound(runs[r], middle, *middle, less);
        std::inplace_merge(first, middle, last, less);
      }
      runs[kept++] = runs[r];
    }
    runs.resize(kept);
  }
}

}  // namespace stepscope
