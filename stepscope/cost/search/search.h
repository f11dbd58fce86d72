// SPDX-License-Identifier: Apache-2.0
// The best way to run a model on a number of devices. Every combination of all dimensions of a plan
// is timed by the function of a single prediction, or excluded by a bound that proves it cannot
// matter (search_bounds.h). The same input gives the same answer for any number of threads.
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

// The best plan on a machine with one property scaled by `factor`.
struct Sensitivity {
  enum class What : std::uint8_t { links_within, links_between, memory_rate, peak, memory };
  static constexpr std::array<std::string_view, 5> names = {
      "bandwidth within domains", "bandwidth between domains", "memory bandwidth", "peak compute",
      "memory capacity"};
  What what{};
  double factor = 1;
  std::optional<double> step{};  // seconds; absent: no found plan fits
  std::optional<Plan> other{};   // only for memory: another plan is then the fastest
};

struct SearchResult {
  std::int64_t candidates = 0;  // = feasible + all rejected
  std::int64_t feasible = 0;
  std::int64_t evaluated = 0;  // complete evaluations, feasible or not
  std::array<std::int64_t, rejected_count> rejected{};
  Seconds elapsed{};
  // The fastest plan of each shape (devices, tp with its layout, ep, pp), fastest first. The second
  // is therefore the runner-up of a different shape.
  std::vector<FoundPlan> best;
  std::vector<FoundPlan> pareto;         // no other plan is both faster and smaller; fastest first
  std::vector<FoundPlan> by_devices;     // the fastest of each device count with a plan
  std::vector<Sensitivity> sensitivity;  // of best[0]
  std::optional<std::int64_t> smallest_devices;  // nothing fits: the fewest found, up to 65,536;
                                                 // absent also where that takes too long
  bool offload_searched = false;
  bool stopped = false;  // by request.stop: contains the results until then
};

// Errors: a machine without memory size, a rate or link needed by costs, or a model or base that no
// plan can run.
[[nodiscard]] Result<SearchResult> search_plans(const Transformer& model, const Machine& machine,
                                                const Network& network,
                                                const SearchRequest& request);

// What would fit where `request.base` does not.
struct Fitting {
  std::optional<Plan> plan;  // on its devices
  // Else a number of devices that is enough. Absent: no count up to 65,536 is, or not all of these
  // plans could be tried.
  std::optional<std::int64_t> devices;
};

// Looks at a few thousand plans instead of all: first at those that differ in states, recomputation
// and micro-batch only, then also in tensor and pipeline parallelism and in groups of experts; then
// at both again with states on host and drive. The answer is the fastest plan of the first shapes
// with one that fits. Errors: as search_plans.
[[nodiscard]] Result<Fitting> find_fitting(const Transformer& model, const Machine& machine,
                                           const Network& network, const SearchRequest& request);

// The rank of a user's plan among the plans of a search.
struct RankQuestion {
  double step = 0;  // seconds of the plan
  std::int64_t devices = 1;
  bool offload = false;  // as SearchResult::offload_searched
  // The count stops after this many evaluations, at a point independent of the number of threads.
  std::int64_t most_evaluations = std::numeric_limits<std::int64_t>::max();
};

struct PlanRank {
  std::int64_t faster = 0;  // plans that fit and are faster
  bool complete = true;     // false: `faster` is a lower bound
};

// Uses the bounds of the search, so only plans with a bound below `step` are evaluated. Errors: a
// machine without a memory size.
[[nodiscard]] Result<PlanRank> rank_plan(const Transformer& model, const Machine& machine,
                                         const Network& network, const SearchRequest& request,
                                         const RankQuestion& question);

}  // namespace stepscope
