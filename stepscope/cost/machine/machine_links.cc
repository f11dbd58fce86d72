// SPDX-License-Identifier: Apache-2.0
// The links of a machine file: scale_up and scale_out.
#include <algorithm>
#include <array>
#include <string>

#include "stepscope/cost/machine/machine_fields.h"

namespace stepscope {
namespace {

using Json = nlohmann::json;
using Fields = MachineFields;

constexpr std::array<std::string_view, 8> scale_up_fields = {
    "name",     "gb_per_s_per_direction",       "p2p_gb_per_s_per_direction", "domain",
    "topology", "peers_gb_per_s_per_direction", "switch_reduction",           "timing"};
constexpr std::array<std::string_view, 9> scale_out_fields = {"name",
                                                              "gb_per_s_per_direction",
                                                              "ports_per_node",
                                                              "devices_per_node",
                                                              "rails",
                                                              "pod_devices",
                                                              "oversubscription",
                                                              "switch_reduction",
                                                              "timing"};
constexpr std::array<std::string_view, 2> reduction_fields = {"name", "group_from"};

std::optional<Topology> read_topology(const Json& link, const std::string& at, Fields& fields) {
  const std::string text = fields.text(link, at, "topology", false);
  if (text.empty()) return std::nullopt;
  const auto* found = std::ranges::find(topology_names, text);
  if (found != topology_names.end()) return static_cast<Topology>(found - topology_names.begin());
  fields.fail(at + "topology", "must be one of: switch, mesh, hybrid mesh, 2D torus, 3D torus");
  return std::nullopt;
}

// To the devices 1, 2, ... places further; 0 where there is no link.
std::vector<ByteRate> read_peers(const Json& link, const std::string& at, Fields& fields) {
  std::vector<ByteRate> peers;
  const auto it = link.find("peers_gb_per_s_per_direction");
  if (it == link.end()) return peers;
  const std::string place = at + "peers_gb_per_s_per_direction";
  if (!it->is_array() || it->empty()) fields.fail(place, "must be a list of rates");
  for (const Json& value : *it) {
    const bool none = value.is_number() && value.get<double>() == 0.0;
    const auto rate = none ? 0.0 : fields.number(value, place);
    peers.push_back(ByteRate{rate.value_or(0) * giga});
  }
  return peers;
}

std::optional<SwitchReduction> read_reduction(const Json& link, const std::string& at,
                                              Fields& fields) {
  const auto it = link.find("switch_reduction");
  const std::string place = at + "switch_reduction";
  if (it == link.end() || !fields.is_object(*it, place)) return std::nullopt;
  fields.only(*it, place + ".", reduction_fields);
  return SwitchReduction{.name = fields.text(*it, place + ".", "name", true),
                         .group_from = fields.whole(*it, place + ".", "group_from")};
}

void read_parameter(const std::string& key, const Json& value, const std::string& at, bool outer,
                    LinkTiming& timing, Fields& fields) {
  const auto* p = std::ranges::find(link_parameters, key, &LinkParameterInfo::name);
  if (p == link_parameters.end() || !(outer ? p->out : p->up)) {
    fields.fail(at + key, "is not a timing of these links");
    return;
  }
  const auto n = fields.number(value, at + key);
  if (n && (*n < p->low || *n > p->high)) {
    fields.fail(at + key,
                "must lie between " + std::to_string(p->low) + " and " + std::to_string(p->high));
  }
  timing.values[static_cast<std::size_t>(p - link_parameters.begin())] = n;
}

std::optional<LinkTiming> read_timing(const Json& link, const std::string& prefix, bool outer,
                                      Fields& fields) {
  const auto it = link.find("timing");
  const std::string at = prefix + "timing.";
  if (it == link.end() || !fields.is_object(*it, prefix + "timing")) return std::nullopt;
  LinkTiming timing{.values = {}, .source = fields.text(*it, at, "source", true)};
  for (const auto& [key, value] : it->items()) {
    if (key != "source") read_parameter(key, value, at, outer, timing, fields);
  }
  return timing;
}

}  // namespace

std::optional<ScaleUp> read_scale_up(const Json& root, Fields& fields) {
  const auto it = root.find("scale_up");
  if (it == root.end() || !fields.is_object(*it, "scale_up")) return std::nullopt;
  const std::string at = "scale_up.";
  fields.only(*it, at, scale_up_fields);
  return ScaleUp{.name = fields.text(*it, at, "name", true),
                 .per_direction = fields.rate(*it, at, "gb_per_s_per_direction"),
                 .peer_to_peer = fields.rate(*it, at, "p2p_gb_per_s_per_direction"),
                 .domain = fields.whole(*it, at, "domain"),
                 .topology = read_topology(*it, at, fields),
                 .peers = read_peers(*it, at, fields),
                 .reduction = read_reduction(*it, at, fields),
                 .timing = read_timing(*it, at, false, fields)};
}

std::optional<ScaleOut> read_scale_out(const Json& root, Fields& fields) {
  const auto it = root.find("scale_out");
  if (it == root.end() || !fields.is_object(*it, "scale_out")) return std::nullopt;
  const std::string at = "scale_out.";
  fields.only(*it, at, scale_out_fields);
  ScaleOut link{.name = fields.text(*it, at, "name", false),
                .per_direction = fields.rate(*it, at, "gb_per_s_per_direction"),
                .ports_per_node = fields.whole(*it, at, "ports_per_node"),
                .devices_per_node = fields.whole(*it, at, "devices_per_node"),
                .rails = fields.truth(*it, at, "rails"),
                .pod_devices = fields.whole(*it, at, "pod_devices"),
                .oversubscription = fields.number(*it, at, "oversubscription"),
                .reduction = read_reduction(*it, at, fields),
                .timing = read_timing(*it, at, true, fields)};
  if (link.oversubscription && *link.oversubscription < 1) {
    fields.fail(at + "oversubscription", "is below 1");
  }
  return link;
}

}  // namespace stepscope
