// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/nccl_json.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/hang/nccl_shape.h"

namespace stepscope {
namespace {

// A variable's values over all processes; several where they differ.
Json environment_json(const NcclSetup& n) {
  std::map<std::string, std::vector<std::string>> all;
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (const NcclProcess& p : n.processes)
    for (const auto& [name, text] : p.environment)
      if (known.emplace(name, text).second) all[name].push_back(text);
  return all;
}

Json ring_orders_json(const NcclShape& shape) {
  Json out = Json::array();
  for (const NcclRing& ring : shape.rings)
    out.push_back({{"channels", ring.channels}, {"ranks", ring.order}, {"whole", ring.whole}});
  return out;
}

Json tree_shapes_json(const NcclShape& shape) {
  Json out = Json::array();
  for (const NcclTree& tree : shape.trees) {
    Json ranks = Json::array();
    for (const NcclTreeRank& r : tree.ranks)
      ranks.push_back(
          {{"rank", r.rank}, {"up", r.up >= 0 ? Json(r.up) : Json(nullptr)}, {"down", r.down}});
    out.push_back(
        {{"channels", tree.channels}, {"ranks", std::move(ranks)}, {"whole", tree.whole}});
  }
  return out;
}

// What the log gives no communicator; null without any.
Json loose_json(const NcclSetup& n) {
  if (n.loose_connections.empty() && n.loose_rings.empty()) return nullptr;
  Json rings = Json::array();
  for (const LoggedCommunicator& c : n.loose_rings) {
    const NcclShape shape = nccl_shape(c);
    const NcclProcess& p = n.processes[c.members.front().process];
    rings.push_back({{"host", p.host},
                     {"pid", p.pid},
                     {"ring_orders", ring_orders_json(shape)},
                     {"unclear_rings", shape.unclear_rings}});
  }
  Json connections = Json::array();
  for (const LooseConnections& c : n.loose_connections)
    connections.push_back({{"from_host", text_or_null(c.from)},
                           {"to_host", text_or_null(c.to)},
                           {"channels", c.channels},
                           {"transports", c.transports}});
  return {{"rings", std::move(rings)}, {"connections", std::move(connections)}};
}

Json ring_lines_json(const LoggedCommunicator& c) {
  Json out = Json::array();
  for (const auto& [channel, line] : c.rings) out.push_back(line);
  return out;
}

}  // namespace

Json nccl_json(const NcclSetup& n) {
  if (n.processes.empty() && n.versions.empty()) return nullptr;
  Json communicators = Json::array();
  for (const LoggedCommunicator& c : n.communicators) {
    Json members = Json::array();
    for (const NcclMember& m : c.members) {
      const NcclProcess& p = n.processes[m.process];
      members.push_back({{"rank", m.rank >= 0 ? Json(m.rank) : Json(nullptr)},
                         {"host", p.host},
                         {"pid", p.pid},
                         {"device", value(p.device)},
                         {"bus", text_or_null(m.bus)},
                         {"complete", m.complete},
                         {"ended", m.ended}});
    }
    const NcclShape shape = nccl_shape(c);
    communicators.push_back(
        {{"id", text_or_null(c.id)},
         {"ranks", c.ranks},
         {"nodes", c.nodes > 0 ? Json(c.nodes) : Json(nullptr)},
         {"parent", value(c.parent)},
         {"channels", c.channels > 0 ? Json(c.channels) : Json(nullptr)},
         {"pair_channels", c.pair_channels > 0 ? Json(c.pair_channels) : Json(nullptr)},
         {"rings", ring_lines_json(c)},
         {"trees", c.trees},
         {"ring_orders", ring_orders_json(shape)},
         {"tree_shapes", tree_shapes_json(shape)},
         {"unclear_rings", shape.unclear_rings},
         {"unclear_trees", shape.unclear_trees},
         {"transports", c.transports},
         {"init_ns", c.init_seconds ? Json(*c.init_seconds * 1e9) : Json(nullptr)},
         {"members", std::move(members)}});
  }
  Json choices = Json::array();
  for (const NcclChoice& c : n.choices)
    choices.push_back({{"operation", text_or_null(c.operation)},
                       {"algorithm", c.algorithm},
                       {"protocol", text_or_null(c.protocol)},
                       {"calls", c.calls},
                       {"least_bytes", c.least_bytes},
                       {"most_bytes", c.most_bytes}});
  return {{"versions", n.versions},
          {"networks", n.networks},
          {"environment", environment_json(n)},
          {"communicators", std::move(communicators)},
          {"without_communicator", loose_json(n)},
          {"choices", std::move(choices)}};
}

}  // namespace stepscope
