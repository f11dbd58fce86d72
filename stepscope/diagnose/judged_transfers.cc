// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/judged_transfers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"

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

std::vector<SlowLinks> slow_links(const JobResult& job, const Machine& machine,
                                  std::optional<int> world_size) {
  struct Group {
    std::vector<ExpectedCollective> rows;  // largest gap first
    double lost = 0;                       // seconds, exposed
    double measured = 0;
    double expected = 0;
  };
  std::map<std::string, Group> groups;
  for (const ExpectedCollective& e : judged_transfers(job.collectives, machine, world_size)) {
    Group& slow = groups[e.row->group];
    slow.rows.push_back(e);
    slow.measured += e.measured;
    slow.expected += e.expected;
    // What is exposed may be waiting: a faster link takes at most the transfer's part away.
    const double exposed = std::min(seconds(e.row->exposed).count(), e.measured);
    slow.lost += std::max(0.0, exposed * (1 - e.expected / e.measured));
  }
  // Siblings that are all slow are one.
  std::map<std::string, std::vector<std::pair<std::string, const Group*>>> of_name;
  for (const auto& [name, slow] : groups)
    if (slow.expected < threshold::slow_link_share * slow.measured) {
      const Dimension dimension = slow.rows.front().row->dimension;
      of_name[dimension == Dimension::unknown
                  ? name
                  : std::string(dimension_names[static_cast<std::size_t>(dimension)])]
          .emplace_back(name, &slow);
    }
  const auto steps = static_cast<double>(most_steps(job.ranks));
  std::vector<SlowLinks> found;
  for (const auto& [name, slow] : of_name) {
    const auto& [group, most] =
        *std::ranges::max_element(slow, {}, [](const auto& g) { return g.second->lost; });
    found.push_back({.name = slow.size() > 1 ? name : group,
                     .groups = slow.size(),
                     .times = most->measured / most->expected,
                     .rows = most->rows,
                     .lost = Ns{std::llround(most->lost / steps * 1e9)}});
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &SlowLinks::lost);
  return found;
}

Message slow_links_sentence(const SlowLinks& slow, const Machine& machine) {
  return msg::found_slow_link(slow.groups > 1 ? msg::several_groups(slow.groups, slow.name)
                                              : msg::one_group(printable(slow.name)),
                              Digits{slow.times}, machine.name);
}

}  // namespace stepscope
