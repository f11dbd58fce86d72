// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/whatif_report.h"

#include <fmt/format.h>

#include <cmath>

#include "stepscope/report/explanation_report.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {

std::string whatif_text(const WhatIfResult& r, std::size_t width) {
  const Explanation& e = r.explanation;
  const auto scenarios = shown_answers(r);
  std::string out = fmt::format("A step of the replay takes {} ({} off the measured one).\n\n",
                                format_time(e.step), format_percent(std::abs(e.replay_error)));
  out += scenarios_text(e, scenarios, scenarios.size(), width);
  for (const std::string& w : r.warnings) out += "\nnote: " + wrapped(w, width - 6);
  return out;
}

Json whatif_tree(const WhatIfResult& r) {
  const Explanation& e = r.explanation;
  Json json = {
      {"schema", "stepscope.whatif/1"}, {"version", r.version}, {"inputs", inputs_json(r.inputs)}};
  json.update(replay_json(e));
  json["scenarios"] = scenarios_json(e, r.asked ? e.asked : e.what_ifs);
  json["warnings"] = r.warnings;
  return json;
}

}  // namespace stepscope
