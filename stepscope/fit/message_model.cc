// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/message_model.h"

#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/fit/expected_collectives.h"

namespace stepscope {

MessageModel message_model(const Machine& machine, std::optional<int> world_size) {
  const auto network = make_network(machine);
  if (!network) return {};
  return
      [network = *network, world_size](const CollectiveMatches& matches, CollectiveKind kind,
                                       std::uint32_t group, Bytes bytes) -> std::optional<double> {
        if (group >= matches.groups.size()) return std::nullopt;
        CollectiveRow row;
        row.kind = kind;
        row.group_size = static_cast<int>(matches.groups[group].ranks.size());
        row.bytes = bytes;
        row.groups = {group};
        const auto placement = placement_of(row, matches.groups, network, world_size);
        if (!placement) return std::nullopt;
        return collective_time(network, kind, bytes, *placement).count() * 1e9;
      };
}

}  // namespace stepscope
