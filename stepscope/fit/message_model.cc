// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/message_model.h"

#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/fit/expected_collectives.h"

namespace stepscope {
namespace {

// `cost(network, kind, bytes, placement)` of messages between two or more ranks.
template <class Cost>
MessageModel model_of(const Machine& machine, std::optional<int> world_size, Cost cost) {
  const auto network = make_network(machine);
  if (!network) return {};
  return [network = *network, world_size, cost](const CollectiveMatches& matches,
                                                CollectiveKind kind, std::uint32_t group,
                                                Bytes bytes) -> std::optional<double> {
    if (group >= matches.groups.size()) return std::nullopt;
    CollectiveRow row;
    row.kind = kind;
    row.group_size = static_cast<int>(matches.groups[group].ranks.size());
    row.bytes = bytes;
    row.groups = {group};
    const auto placement = placement_of(row, matches, network, world_size);
    if (!placement) return std::nullopt;
    return cost(network, kind, bytes, placement->group).count() * 1e9;
  };
}

}  // namespace

MessageModel message_model(const Machine& machine, std::optional<int> world_size) {
  return model_of(machine, world_size, collective_time);
}

MessageModel message_latency_model(const Machine& machine, std::optional<int> world_size) {
  const auto latency = [](const Network& network, CollectiveKind kind, Bytes bytes,
                          const GroupPlacement& placement) {
    for (const AlgorithmTime& a : collective_algorithms(network, kind, bytes, placement))
      if (a.offered) return a.steps;
    return Seconds{0};
  };
  return model_of(machine, world_size, latency);
}

}  // namespace stepscope
