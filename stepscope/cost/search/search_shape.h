// SPDX-License-Identifier: Apache-2.0
// The search below one shape, and what has been found so far: the fastest plan of each shape, and
// the plans that no other plan beats in both time and memory. Equal plans are told apart by their
// place in the tree, so the order of finding them does not matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "stepscope/cost/search/search_space.h"

namespace stepscope {

struct Candidate {
  double step = 0;    // seconds
  double memory = 0;  // bytes of the fullest device
  std::array<std::int64_t, 2> place{};
  Plan plan;
};

// devices, tp, layout, depth, ep, pp. Not cp: it trades with the micro-batch for next to nothing.
using Family = std::array<std::int64_t, 6>;
[[nodiscard]] Family family_of(const Plan& plan);

struct FoundLimits {
  double capacity = 0;  // bytes: what a plan may take
  // What plans may take that tell what more memory would be worth; >= capacity.
  double extended = 0;
  double slowest = 2;
  std::size_t top = 10;
};

class FoundPlans {
 public:
  explicit FoundPlans(const FoundLimits& limits) : limits_(limits) {}

  // Whether a plan that takes no less than this could still be in the answer.
  [[nodiscard]] bool wants(const Family& family, double step, double memory) const;
  void add(const Family& family, Candidate candidate);
  void merge(const FoundPlans& other);

  [[nodiscard]] const std::map<Family, Candidate>& families() const { return families_; }
  // Fastest first, memory falling; up to limits.extended.
  [[nodiscard]] const std::vector<Candidate>& front() const { return front_; }
  // The step that a plan must not exceed to be in the answer.
  [[nodiscard]] double latest() const { return limits_.slowest * fastest_; }
  // After merges: how slow a shape may be to be among the top ones.
  void settle();

 private:
  [[nodiscard]] bool beaten(double step, double memory) const;
  void add_to_front(Candidate candidate);

  FoundLimits limits_;
  std::map<Family, Candidate> families_;
  std::vector<Candidate> front_;
  double fastest_ = std::numeric_limits<double>::infinity();
  double slowest_top_ = std::numeric_limits<double>::infinity();
};

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
