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

Json groups_json(const JobResult& job) {
  Json out = Json::array();
  const Collectives& all = job.collectives;
  for (std::size_t i = 0; i < job.group_rates.size();) {
    const std::uint32_t row = job.group_rates[i].group;
    const CommGroup& group = all.matches.groups[row];
    Json rates = Json::array();
    for (; i < job.group_rates.size() && job.group_rates[i].group == row; ++i)
      rates.push_back(group_rate(job.group_rates[i]));
    out.push_back({{"name", group.name},
                   {"description", text_or_null(group.description)},
                   {"dimension", name_of(dimension_names, all.dimension_of[row])},
                   {"size", group.size < 0 ? Json(nullptr) : Json(group.size)},
                   {"ranks", group.ranks},
                   {"rates", std::move(rates)}});
  }
  return out;
}

}  // namespace stepscope
