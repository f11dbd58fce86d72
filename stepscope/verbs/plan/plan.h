// SPDX-License-Identifier: Apache-2.0
// The fastest way to run a model on a number of devices, out of all plans, compared with the user's
// own plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/plan_flags.h"
#include "stepscope/cost/search/search.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/inputs/plan_settings.h"

namespace stepscope {

struct PlanRequest {
  std::string model{};    // of the catalogue, or a file: our JSON or a Hugging Face config.json
  std::string machine{};  // of the catalogue, or a machine file
  PlanSettings base{};    // what is not searched: sequence, global batch, precision, overlap, ...
  // Devices in all; each count is searched (device_range). Ascending, at least one.
  std::vector<std::int64_t> devices{};
  std::vector<PlanSetting> fix{};      // only plans with these, by search_key_names
  std::vector<PlanSetting> most{};     // only plans with at most these
  std::vector<std::string> against{};  // plans of one's own (plan_against.h)
  double memory_headroom = 0.1;        // share of the device's memory that stays free
  bool offload = false;  // states on host and NVMe too; else only where nothing else fits
  std::size_t top = 10;  // shapes of plans in the result
  unsigned threads = 0;  // 0: all cores. The result does not depend on it
};

// One plan of `against`.
struct AgainstPlan {
  std::string label;  // as the request has it
  Plan plan{};
  std::optional<StepCost> cost{};  // absent: it cannot run
  std::string why_not{};
  PlanRank rank{};
};

struct PlanResult {
  Transformer model{};
  Machine machine{};
  SearchRequest request{};  // what was searched
  SearchResult found{};     // where it was interrupted, what was found until then
  std::vector<AgainstPlan> against{};
  std::vector<FrameworkFlags> flags{};  // the best plan for each framework; empty without one
  Messages warnings{};
};

// An interrupted search is no error: found.stopped. Errors: what is missing or cannot be in the
// request.
[[nodiscard]] Result<PlanResult> plan(const PlanRequest& request, const Progress& progress = {});

// The fastest plan on as many devices as one's own has, else the fastest of all; null where nothing
// fits.
[[nodiscard]] const FoundPlan* fastest_beside(const PlanResult& result, const AgainstPlan& own);
// Bytes of a device that the search left to plans.
[[nodiscard]] double allowed_bytes(const PlanResult& result);

}  // namespace stepscope
