// SPDX-License-Identifier: Apache-2.0
// The best way to run a model on a number of devices: every combination of all dimensions of a
// plan, timed by the function that a single prediction uses, or left out by a bound that proves it
// cannot matter (search_bounds.h). The same input has the same answer for any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/search/search_request.h"  // IWYU pragma: export
#include "stepscope/cost/step/step_cost.h"

namespace stepscope {

struct FoundPlan {
  Plan plan;
  StepCost cost;
  bool near_tie = false;  // within the model's error of the fastest
};

inline constexpr std::array<double, 4> sensitivity_factors = {0.8, 0.9, 1.1, 1.2};
inline constexpr double most_memory = sensitivity_factors.back();

// The best plan on a machine where one thing is `factor` times what it is.
struct Sensitivity {
  enum class What : std::uint8_t { links_within, links_between, memory_rate, peak, memory };
  static constexpr std::array<std::string_view, 5> names = {
      "bandwidth within domains", "bandwidth between domains", "memory bandwidth", "peak compute",
      "memory capacity"};
  What what{};
  double factor = 1;
  std::optional<double> step{};  // seconds; absent: nothing found fits
  std::optional<Plan> other{};   // memory only: another plan is the fastest then
};

struct SearchResult {
  std::int64_t candidates = 0;  // = feasible + all rejected
  std::int64_t feasible = 0;
  std::int64_t evaluated = 0;  // completely, feasible or not
  std::array<std::int64_t, rejected_count> rejected{};
  Seconds elapsed{};
  // The fastest plan of each shape (devices, tp with its layout, ep, pp), fastest first: so the
  // second is the runner-up of a different shape.
  std::vector<FoundPlan> best;
  std::vector<FoundPlan> pareto;         // no other is both faster and smaller; fastest first
  std::vector<FoundPlan> by_devices;     // the fastest of each count that has one
  std::vector<Sensitivity> sensitivity;  // of best[0]
  std::optional<std::int64_t> smallest_devices;  // nothing fits: up to 65,536, the fewest found
  bool offload_searched = false;
  bool stopped = false;  // by request.stop: what was found until then
};

// Errors: a machine without memory size, a rate or link that costs need, a model or base that no
// plan can run.
[[nodiscard]] Result<SearchResult> search_plans(const Transformer& model, const Machine& machine,
                                                const Network& network,
                                                const SearchRequest& request);

// Where a plan that somebody chose stands among those that a search may take.
struct RankQuestion {
  double step = 0;  // seconds of the plan
  std::int64_t devices = 1;
  bool offload = false;  // as SearchResult::offload_searched
  // After so many evaluations the count is given up, at a place that no number of threads changes.
  std::int64_t most_evaluations = std::numeric_limits<std::int64_t>::max();
};

struct PlanRank {
  std::int64_t faster = 0;  // plans that fit and take less time
  bool complete = true;     // false: at least so many
};

// By the same bounds as the search, so that only plans whose bound is below `step` are evaluated.
// Errors: a machine without a memory size.
[[nodiscard]] Result<PlanRank> rank_plan(const Transformer& model, const Machine& machine,
                                         const Network& network, const SearchRequest& request,
                                         const RankQuestion& question);

}  // namespace stepscope
