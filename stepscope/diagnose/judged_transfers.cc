// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/judged_transfers.h"

#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/diagnose/thresholds.h"

namespace stepscope {
namespace {

double time_of(const Network& network, const ExpectedCollective& e, Bytes bytes) {
  return collective_time(network, e.row->kind, bytes, e.group).count() *
         static_cast<double>(e.calls);
}

// Nothing if no links join the domains: then not even the slower placement is known.
std::optional<ExpectedCollective> at_least(const Network& network, ExpectedCollective e) {
  const auto apart = place(e.group.size, network.domain, network);
  if (!apart) return std::nullopt;
  ExpectedCollective slower = e;
  slower.group = *apart;
  slower.expected = time_of(network, slower, *e.row->bytes);
  return slower.expected > e.expected ? slower : e;
}

}  // namespace

std::vector<ExpectedCollective> judged_transfers(const Collectives& collectives,
                                                 const Machine& machine,
                                                 std::optional<int> world_size) {
  std::vector<ExpectedCollective> judged;
  const auto network = make_network(machine);
  if (!network) return judged;
  for (const ExpectedCollective& e : expected_collectives(collectives, *network, world_size)) {
    if (e.with_wait) continue;
    const auto surely = e.assumed ? at_least(*network, e) : std::optional(e);
    if (surely &&
        surely->expected >= threshold::rate_bound_from * time_of(*network, *surely, Bytes{1}))
      judged.push_back(*surely);
  }
  return judged;
}

}  // namespace stepscope
