// SPDX-License-Identifier: Apache-2.0
// The search below one shape.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

#include "stepscope/cost/search/search_found.h"
#include "stepscope/cost/search/search_space.h"

namespace stepscope {

struct ShapeSearch {
  const Machine* machine = nullptr;  // all outlive it
  const Network* network = nullptr;
  SearchSpace space;
  FoundLimits limits;
  // Where given, plans that fit and take fewer seconds are counted, and none is kept.
  std::optional<double> count_below{};
};

struct ShapeResult {
  explicit ShapeResult(const FoundLimits& limits) : found(limits) {}

  FoundPlans found;  // without those of `before`
  std::int64_t feasible = 0;
  std::int64_t evaluated = 0;
  std::int64_t faster = 0;  // than count_below
  std::array<std::int64_t, rejected_count> rejected{};
  std::optional<Error> error;  // of the first plan that the machine lacks something for
};

// Lower bounds over all plans of a shape, to try promising ones first; infinite where it has none.
struct ShapeBound {
  double step = std::numeric_limits<double>::infinity();
};
[[nodiscard]] ShapeBound shape_bound(const ShapeSearch& search, const Plan& shape);

// Shapes are searched in rounds that prune with what earlier rounds found; the first has few.
[[nodiscard]] constexpr std::size_t next_round(std::size_t round) {
  constexpr std::size_t first = 8;
  constexpr std::size_t largest = 128;
  return round == 0 ? first : round < largest / 2 ? 2 * round : largest;
}

// `before`: what was found elsewhere, which plans here have to beat.
void search_shape(const ShapeSearch& search, const SearchShape& shape, const FoundPlans& before,
                  ShapeResult& result);

}  // namespace stepscope
