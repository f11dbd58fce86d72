// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/cheapest_assignment.h"

namespace stepscope {

std::optional<std::vector<std::size_t>> cheapest_assignment(std::span<const std::int64_t> cost,
                                                            std::size_t n) {
  constexpr std::int64_t far = no_assignment;
  std::vector<std::int64_t> row_potential(n, 0);
  std::vector<std::int64_t> column_potential(n + 1, 0);
  std::vector<std::size_t> row_of(n + 1, n);  // of a column; n: none. Column n starts a path
  for (std::size_t row = 0; row < n; ++row) {
    std::vector<std::int64_t> distance(n, far);  // of columns from the row
    std::vector<std::size_t> before(n, n);       // column on the way
    std::vector<bool> reached(n + 1, false);
    std::size_t column = n;
    row_of[n] = row;
    while (row_of[column] != n) {
      reached[column] = true;
      const std::size_t here = row_of[column];
      std::int64_t least = far;
      std::size_t next = n;
      for (std::size_t c = 0; c < n; ++c) {
        if (reached[c]) continue;
        if (cost[here * n + c] != far) {
          const std::int64_t way = cost[here * n + c] - row_potential[here] - column_potential[c];
          if (way < distance[c]) {
            distance[c] = way;
            before[c] = column;
          }
        }
        if (distance[c] < least) {
          least = distance[c];
          next = c;
        }
      }
      if (least == far) return std::nullopt;
      for (std::size_t c = 0; c <= n; ++c) {
        if (reached[c]) {
          row_potential[row_of[c]] += least;
          column_potential[c] -= least;
        } else if (c < n && distance[c] != far) {
          distance[c] -= least;
        }
      }
      column = next;
    }
    while (column != n) {
      row_of[column] = row_of[before[column]];
      column = before[column];
    }
  }
  std::vector<std::size_t> columns(n);
  for (std::size_t c = 0; c < n; ++c) columns[row_of[c]] = c;
  return columns;
}

}  // namespace stepscope
