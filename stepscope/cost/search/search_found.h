// SPDX-License-Identifier: Apache-2.0
// What a search has found so far: the fastest plan of each shape, and the plans that no other beats
// in both time and memory. Equal plans are told apart by their place in the tree, so the order of
// finding them does not matter.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "stepscope/cost/plan/parallelism.h"

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

}  // namespace stepscope
