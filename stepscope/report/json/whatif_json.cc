// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/whatif_json.h"

#include "stepscope/report/json/analyze_json.h"
#include "stepscope/report/json/explanation_json.h"
#include "stepscope/say/say.h"

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

}  // namespace stepscope
