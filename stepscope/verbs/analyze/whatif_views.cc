// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/whatif_views.h"

#include <memory>
#include <utility>

#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/analyze_json.h"
#include "stepscope/verbs/analyze/explanation_views.h"

namespace stepscope {

Json whatif_tree(const WhatIfResult& r) {
  const Explanation& e = r.explanation;
  Json json = {
      {"schema", "stepscope.whatif/1"}, {"version", r.version}, {"inputs", inputs_json(r.inputs)}};
  json.update(replay_json(e));
  json["scenarios"] = scenarios_json(e, r.asked ? e.asked : e.what_ifs);
  json["warnings"] = say_all(r.warnings);
  return json;
}

std::vector<TreeTable> whatif_tables(const Json& tree) {
  return {table_of("scenarios", tree["scenarios"])};
}

Answer whatif_answer(WhatIfResult whatif) {
  const auto result = std::make_shared<const WhatIfResult>(std::move(whatif));
  const bool answered = result->asked || !result->explanation.refused;
  return {.tree = [result] { return whatif_tree(*result); },
          .text =
              [result](const TextOptions& options) {
                return whatif_text(*result, static_cast<std::size_t>(options.width));
              },
          .tables = whatif_tables,
          .failures = result->failures,
          .exit = answered ? exit_done : exit_failed};
}

}  // namespace stepscope
