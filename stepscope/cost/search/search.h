// SPDX-License-Identifier: Apache-2.0
// The best way to run a model on a number of devices: every combination of all dimensions of a
// plan, timed by the function that a single prediction uses, or left out by a bound that proves it
// cannot matter (search_bounds.h). The same input has the same answer for any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/search/search_request.h"  // IWYU pragma: export
#include "stepscope/cost/step/step_cost.h"

namespace stepscope {

// Why plans are not among the feasible ones; a subtree counts all its plans.
enum class Rejected : std::uint8_t {
  tensor,
  context,
  expert,
  batch,
  schedule,
  links,
  memory,
  slow
};
inline constexpr std::size_t rejected_count = 8;
inline constexpr std::array<std::string_view, rejected_count> rejected_names = {
    "tp does not divide the model",
    "cp does not divide the sequence or the heads",
    "ep does not divide the experts or the ranks",
    "dp * micro_batch does not divide the global batch",
    "micro-batches of the interleaved schedule are no multiple of pp",
    "the machine lacks a link it needs",
    "does not fit in memory",
    "slower than plans found (by a lower bound)"};
static_assert(rejected_names[static_cast<std::size_t>(Rejected::slow)].starts_with("slower"));

struct FoundPlan {
  Plan plan;
  StepCost cost;
  bool near_tie = false;  // within the model's error of the fastest
};

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

}  // namespace stepscope
