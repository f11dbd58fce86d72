// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope plan`: the best plan, why it wins, what comes near, what was left out,
// and the user's own plans beside it.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/plan.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct PlanTextOptions {
  TextOptions text{};
  std::string framework{};  // whose flags for the best plan are shown ("Megatron-LM"), or empty
};

// "The fastest plan takes 3.21 s a step: 45.1 % MFU (…)."; where nothing fits, the smallest count
// that does.
[[nodiscard]] std::string plan_sentence(const PlanResult& result);
// The fastest plan on as many devices as one's own has, else the fastest of all; null where nothing
// fits.
[[nodiscard]] const FoundPlan* fastest_beside(const PlanResult& result, const AgainstPlan& own);
// How the plan of one's own does, whether it fits, and why the fastest wins.
[[nodiscard]] std::string against_sentence(const PlanResult& result, const AgainstPlan& own);
// A plan as short as a table needs it: "tp4+sp pp4 interleaved×24 dp64 zero3/32 3×8 full".
[[nodiscard]] std::string plan_in_brief(const Plan& plan);
// Bytes of a device that the search left to plans.
[[nodiscard]] double allowed_bytes(const PlanResult& result);
[[nodiscard]] std::string plan_text(const PlanResult& result, const PlanTextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json plan_tree(const PlanResult& result);
// plans, pareto, rejected, sensitivity; by_devices and against where there are some.
[[nodiscard]] std::vector<CsvFile> plan_csv(const PlanResult& result);

}  // namespace stepscope
