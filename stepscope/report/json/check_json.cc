// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/check_json.h"

#include "stepscope/report/json/compare_json.h"
#include "stepscope/report/json/log_json.h"
#include "stepscope/report/sentences/check_sentence.h"

namespace stepscope {

Json check_tree(const CheckResult& r) {
  Json checks = Json::array();
  for (const CheckLine& l : r.lines)
    checks.push_back({{"name", l.name},
                      {"status", name_of(check_status_names, l.status)},
                      {"value", real(l.value)},
                      {"sentence", l.sentence}});
  return {{"schema", "stepscope.check/1"},
          {"version", r.version},
          {"answer", {{"sentence", check_sentence(r.lines)}}},
          {"input", r.input},
          {"kind", name_of(checked_kind_names, r.kind)},
          {"steps", arm_tree(r.input, r.facts.arm)},
          {"log", !r.log ? Json(nullptr) : log_tree(*r.log)},
          {"checks", std::move(checks)},
          {"record_next", r.record_next},
          {"warnings", r.warnings}};
}

}  // namespace stepscope
