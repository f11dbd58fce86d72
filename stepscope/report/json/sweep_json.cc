// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/sweep_json.h"

#include <fmt/format.h>

#include "stepscope/report/json/compare_json.h"
#include "stepscope/report/sentences/sweep_sentence.h"

namespace stepscope {

Json sweep_tree(const SweepResult& r) {
  Json values = Json::array();
  for (std::size_t i = 0; i < r.sweep.values.size(); ++i) {
    const SweptValue& v = r.sweep.values[i];
    Json row = {{"value", v.value}};
    Json arm = arm_tree(fmt::format("{}={}", r.name, v.value), v.arm);
    row.update(arm);
    const auto& t = v.beside_best;
    row["ratio"] = t ? t->ratio : 1;
    row["interval"] =
        t && t->interval ? Json::array({t->interval->first, t->interval->second}) : Json(nullptr);
    row["p"] = t ? real(t->p) : Json(nullptr);
    row["q"] = real(v.q);
    row["tie"] = v.tie;
    row["best"] = i == r.sweep.best;
    values.push_back(std::move(row));
  }
  return {{"schema", "stepscope.sweep/1"},
          {"version", r.version},
          {"answer", {{"sentence", sweep_sentence(r)}}},
          {"name", r.name},
          {"best", r.sweep.values[r.sweep.best].value},
          {"ties", ties_of(r.sweep)},
          {"enough_data", r.sweep.enough_data},
          {"values", std::move(values)},
          {"order", r.order},
          {"warnings", r.warnings}};
}

}  // namespace stepscope
