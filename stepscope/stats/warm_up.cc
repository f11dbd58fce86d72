// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/warm_up.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stepscope/stats/hampel.h"
#include "stepscope/stats/long_run.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t group = 5;
constexpr std::size_t fewest_groups = 8;
constexpr double standard_errors = 5;
constexpr double least_change = 0.005;
constexpr double slow = 1.05;
// Fewer later values show no spread.
constexpr std::size_t few_later = 4;
constexpr double slow_beside_few = 1.5;
constexpr double slow_beside_two = 2;
constexpr std::size_t shortest_level = 8;  // as of a change point
constexpr std::size_t longest_part = 4;
constexpr double nearer = 2.0 / 3;

// The leading values that are slow compared with the second half.
std::size_t slow_first(std::span<const double> values) {
  const auto rest = values.subspan(values.size() / 2);
  const auto later = hampel_limits(rest, 6);
  const double least = rest.size() < few_later ? slow_beside_few : slow;
  const double limit = std::max(later->high, later->median * least);
  std::size_t count = 0;
  while (count < values.size() / 2 && values[count] > limit) ++count;
  return count;
}

// Whether a head comes closer to the level of the rest, within a quarter of all values. A plateau
// is a level of its own, and does not: the first half of a head shows it, because the best cut may
// lie behind the plateau's end. A few values are too short for one.
bool decays(std::span<const double> values, std::size_t count) {
  if (count < shortest_level) return true;
  const double level = *median(values.subspan(count));
  const double begin = *median(values.first(count / 4)) - level;
  const double next = *median(values.subspan(count / 4, count / 4)) - level;
  return longest_part * count <= values.size() && next < nearer * begin;
}

std::vector<double> medians_of_five(std::span<const double> values) {
  std::vector<double> medians;
  medians.reserve(values.size() / group);
  for (std::size_t at = 0; at + group <= values.size(); at += group)
    medians.push_back(*median(values.subspan(at, group)));
  return medians;
}

// The number of groups to leave out so that the mean of the rest is most precise: it minimises the
// rest's variance over its size.
std::size_t least_error(std::span<const double> y) {
  double sum = 0;
  double squares = 0;
  double least = 0;
  std::size_t best = 0;
  const double origin = y.back();
  for (std::size_t d = y.size(); d-- > 0;) {
    const double v = y[d] - origin;
    sum += v;
    squares += v * v;
    const auto m = static_cast<double>(y.size() - d);
    if (2 * d > y.size()) continue;
    const double error = (squares - sum * sum / m) / (m * m);
    if (best == 0 && least == 0) least = error;
    if (error > least) continue;
    least = error;
    best = d;
  }
  return best;
}

bool is_slower(std::span<const double> head, std::span<const double> tail) {
  const LongRun rest = long_run(tail);
  const double change = *median(head) - *median(tail);
  const double error =
      std::sqrt(rest.variance * rest.time *
                (1 / static_cast<double>(head.size()) + 1 / static_cast<double>(tail.size())));
  return change > standard_errors * error && change > least_change * *median(tail);
}

// If the tail has a trend, its standard error is meaningless.
bool still_moves(std::span<const double> head, std::span<const double> tail) {
  const auto limits = hampel_limits(tail, 2);
  const double before = *median(head);
  return (before < limits->low || before > limits->high) &&
         std::fabs(before - limits->median) > 0.02 * limits->median;
}

}  // namespace

WarmUp find_warm_up(std::span<const double> values) {
  WarmUp found;
  if (values.size() < 3) return found;
  if (values.size() == 3) {
    const auto [least, most] = std::minmax(values[1], values[2]);
    found.count = values[0] > slow_beside_two * most && most <= slow_beside_few * least ? 1 : 0;
    return found;
  }
  found.count = slow_first(values);
  while (!decays(values, found.count)) found.count = slow_first(values.first(found.count));
  const std::vector<double> y = medians_of_five(values.subspan(found.count));
  if (y.size() < fewest_groups) return found;
  const auto all = std::span(y);
  const std::size_t change = least_error(all);
  if (change == 0) return found;
  const auto head = all.first(change);
  const auto tail = all.subspan(change);
  found.unsettled = 2 * change + 1 >= y.size() && still_moves(head, tail);
  const std::size_t longer = found.count + change * group;
  if (!found.unsettled && is_slower(head, tail) && decays(values, longer)) found.count = longer;
  return found;
}

}  // namespace stepscope
