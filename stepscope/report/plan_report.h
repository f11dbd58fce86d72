// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope plan`: the best plan, why it wins, what comes near, what was left out.
#pragma once

#include <string>
#include <vector>

#include "stepscope/cost/parameter_count.h"
#include "stepscope/cost/search.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_report.h"

namespace stepscope {

struct PlanReport {
  std::string version;
  const Transformer* model = nullptr;
  const Machine* machine = nullptr;
  SearchRequest request;
  SearchResult result;
  std::string flags{};  // the best plan as another framework writes it, or empty
  std::vector<std::string> warnings{};
};

// "Fastest of 1.2 M plans: a step takes 3.21 s, 45.1 % MFU: TP 8 · …"; where nothing fits, the
// smallest count that does.
[[nodiscard]] std::string plan_sentence(const PlanReport& report);
[[nodiscard]] std::string plan_text(const PlanReport& report, const TextOptions& options = {});
// docs/json.md.
[[nodiscard]] Json plan_tree(const PlanReport& report);

}  // namespace stepscope
