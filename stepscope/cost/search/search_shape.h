// SPDX-License-Identifier: Apache-2.0
// The search below one shape, and the results so far: the fastest plan of each shape, and the plans
// that no other plan beats in both time and memory. Equal plans are distinguished by their place in
// the tree, so the order in which they are found does not matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/search/search_space.h"

namespace stepscope {

struct Candidate {
  double step = 0;    // seconds
  double memory = 0;  // bytes of the fullest device
  std::array<std::int64_t, 2> place{};
  Plan plan;
};

// devices, tp, layout, rows, columns, depth, ep, pp. Without cp, whose exchange with the
// micro-batch costs almost nothing.
using Family = std::array<std::int64_t, 8>;
[[nodiscard]] Family family_of(const Plan& plan);

struct FoundLimits {
  double capacity = 0;  // bytes: capacity for a plan
  // Capacity for plans that show the value of more memory; >= capacity.
  double extended = 0;
  double slowest = 2;
  std::size_t top = 10;
};

class FoundPlans {
 public:
  explicit FoundPlans(const FoundLimits& limits) : limits_(limits) {}

  // True if a plan with at least this time and memory could still be in the answer.
  [[nodiscard]] bool wants(const Family& family, double step, double memory) const;
  void add(const Family& family, Candidate candidate);
  void merge(const FoundPlans& other);

  [[nodiscard]] const std::map<Family, Candidate>& families() const { return families_; }
  // Fastest first, memory falling; up to limits.extended.
  [[nodiscard]] const std::vector<Candidate>& front() const { return front_; }
  // The longest step of a plan in the answer.
  [[nodiscard]] double latest() const { return limits_.slowest * fastest_; }
  // After merges: updates the limit for a shape to be among the top ones.
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
  const Machine* machine = nullptr;  // all must outlive it
  const Network* network = nullptr;
  SearchSpace space;
  FoundLimits limits;
  // If given, plans that fit and take fewer seconds are counted, and no plan is kept.
  std::optional<double> count_below{};
};

struct ShapeResult {
  explicit ShapeResult(const FoundLimits& limits) : found(limits) {}

  FoundPlans found;  // without plans of `before`
  std::int64_t feasible = 0;
  std::int64_t evaluated = 0;
  std::int64_t faster = 0;  // than count_below
  std::array<std::int64_t, rejected_count> rejected{};
  std::optional<Error> error;  // of the first plan that needs a figure the machine lacks
};

// Lower bounds over all plans of a shape, for trying promising shapes first; infinite if it has no
// plans.
struct ShapeBound {
  double step = std::numeric_limits<double>::infinity();
};
[[nodiscard]] ShapeBound shape_bound(const ShapeSearch& search, const Plan& shape);

// Shapes are searched in rounds that prune with the results of earlier rounds. The first round is
// small.
[[nodiscard]] constexpr std::size_t next_round(std::size_t round) {
  constexpr std::size_t first = 8;
  constexpr std::size_t largest = 128;
  return round == 0 ? first : round < largest / 2 ? 2 * round : largest;
}

// `before`: results from elsewhere, which plans here must beat.
void search_shape(const ShapeSearch& search, const SearchShape& shape, const FoundPlans& before,
                  ShapeResult& result);

}  // namespace stepscope
