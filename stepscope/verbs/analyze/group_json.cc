// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/group_json.h"

namespace stepscope {
namespace {

Json group_rate(const GroupRate& r) {
  return {{"name", name_of(collective_kind_names, r.kind)},
          {"bytes", value(r.bytes)},
          {"count", r.count},
          {"transfer_ns", value(r.transfer)},
          {"busbw_gb_per_s", gb_per_s(r.busbw)},
          {"of_siblings", real(r.of_siblings)}};
}

}  // namespace

Json groups_json(const Collectives& collectives, std::span<const GroupRate> rates) {
  Json out = Json::array();
  for (std::size_t i = 0; i < rates.size();) {
    const std::uint32_t row = rates[i].group;
    const CommGroup& group = collectives.matches.groups[row];
    Json of_group = Json::array();
    for (; i < rates.size() && rates[i].group == row; ++i) of_group.push_back(group_rate(rates[i]));
    out.push_back({{"name", group.name},
                   {"description", text_or_null(group.description)},
                   {"dimension", name_of(dimension_names, collectives.dimension_of[row])},
                   {"size", group.size < 0 ? Json(nullptr) : Json(group.size)},
                   {"ranks", group.ranks},
                   {"rates", std::move(of_group)}});
  }
  return out;
}

}  // namespace stepscope
