// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/interconnect.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace stepscope {
namespace {

Error lacks(const Machine& machine, std::string_view field, std::string_view remedy) {
  return Error{.what = "machine \"" + machine.name + "\" does not say " + std::string(field),
               .hint = std::string(remedy)};
}

std::string shown(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

// The numbers of a link's timing that other machines give.
struct AssumedTiming {
  std::size_t count = 0;
  std::string values{};  // "hop_ll_us 0.75, …"
};

AssumedTiming resolve(const std::optional<LinkTiming>& timing, bool outer, ResolvedTiming& into) {
  AssumedTiming assumed;
  for (std::size_t p = 0; p < link_parameter_count; ++p) {
    const LinkParameterInfo& parameter = link_parameters[p];
    const std::optional<double> fallback = outer ? parameter.out : parameter.up;
    const std::optional<double> measured = timing ? timing->values[p] : std::nullopt;
    into[p] = measured.value_or(fallback.value_or(std::numeric_limits<double>::quiet_NaN()));
    if (measured || !fallback) continue;
    assumed.values.append(assumed.values.empty() ? "" : ", ").append(parameter.name);
    assumed.values.append(" ").append(shown(*fallback));
    ++assumed.count;
  }
  return assumed;
}

// One line for both links.
void note_timing(const AssumedTiming& up, const AssumedTiming& out,
                 std::vector<std::string>& assumptions) {
  const std::size_t count = up.count + out.count;
  if (count == 0) return;
  const bool both = up.count > 0 && out.count > 0;
  std::string said = both           ? "scale_up.timing and scale_out.timing: "
                     : up.count > 0 ? "scale_up.timing: "
                                    : "scale_out.timing: ";
  if (both)
    said += std::to_string(up.count) + " and " + std::to_string(out.count) + " numbers are";
  else
    said += count == 1 ? "1 number is" : std::to_string(count) + " numbers are";
  said += " taken from other machines";
  constexpr std::size_t few = 4;
  if (count <= few) said += " (" + up.values + (both ? "; " : "") + out.values + ")";
  assumptions.push_back(said + "; stepscope calibrate fits yours to output of nccl-tests");
}

// If the file does not state the topology, the rates show it.
Topology topology_of(const ScaleUp& link) {
  if (link.topology) return *link.topology;
  const bool switched = !link.peer_to_peer || !link.per_direction ||
                        link.peer_to_peer->value >= link.per_direction->value;
  return switched ? Topology::switched : Topology::mesh;
}

// Every device has as many links as the mesh needs or the torus has axes.
std::optional<ByteRate> whole_rate(const ScaleUp& link, Topology topology, int domain) {
  if (link.per_direction) return link.per_direction;
  if (!link.peer_to_peer) return std::nullopt;
  switch (topology) {
    case Topology::mesh:
      return *link.peer_to_peer * static_cast<double>(domain - 1);
    case Topology::torus_2d:
      return *link.peer_to_peer * 4.0;
    case Topology::torus_3d:
      return *link.peer_to_peer * 6.0;
    default:
      return std::nullopt;
  }
}

ByteRate peer_rate(const ScaleUp& link, Topology topology, ByteRate whole, int domain) {
  if (link.peer_to_peer) return *link.peer_to_peer;
  if (topology == Topology::torus_2d) return whole * 0.25;
  if (topology == Topology::torus_3d) return whole * (1.0 / 6);
  const bool mesh = topology != Topology::switched && domain > 1;
  return mesh ? whole * (1.0 / (domain - 1)) : whole;
}

void add_tiers(const Machine& machine, Network& network) {
  if (network.domain > 1) {
    network.tiers.push_back({machine.scale_up->name + " domain", network.domain, network.up});
  }
  if (!network.out) return;
  const ScaleOut& out = *machine.scale_out;
  const bool rails = out.rails.value_or(false);
  network.tiers.push_back(
      {rails ? "rails" : "ports of the nodes", network.pod_devices, *network.out});
  if (network.pod_devices) {
    network.tiers.push_back({"spine", std::nullopt, *network.out * (1 / network.oversubscription)});
  }
}

std::optional<Error> add_scale_up(const Machine& machine, const NetworkOptions& options,
                                  Network& network) {
  if (!machine.scale_up) {
    if (options.domain.value_or(1) == 1) return std::nullopt;
    return lacks(machine, "scale_up", "give --machine FILE with it");
  }
  const ScaleUp& link = *machine.scale_up;
  const std::optional<int> domain = options.domain ? options.domain : link.domain;
  if (!domain) {
    return lacks(machine, "scale_up.domain",
                 "give the devices of one domain, with --gpus-per-node (it differs by system)");
  }
  network.domain = *domain;
  network.topology = topology_of(link);
  const auto whole = whole_rate(link, network.topology, network.domain);
  if (!whole && network.domain > 1) {
    return lacks(machine, "scale_up.gb_per_s_per_direction", "give --machine FILE with it");
  }
  network.up = whole.value_or(ByteRate{});
  network.peer = peer_rate(link, network.topology, network.up, network.domain);
  network.peers = link.peers;
  if (link.reduction) network.up_reduction_from = link.reduction->group_from.value_or(2);
  if (!link.topology) {
    network.assumptions.push_back(
        "scale_up.topology is not stated; its rates are those of a " +
        std::string(topology_names[static_cast<std::size_t>(network.topology)]));
  }
  return std::nullopt;
}

std::string rate_text(ByteRate rate) {
  std::string text = std::to_string(rate.value / giga);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " GB/s";
}

// Links that a server may lack are an assumption, and so is the network next to them.
void tell_optional_links(const Machine& machine, Network& network) {
  if (!machine.scale_up || !machine.scale_up->optional || network.domain < 2) return;
  std::string said = "links are assumed: " +
                     (machine.scale_up->name.empty() ? "scale_up" : machine.scale_up->name) +
                     " joins each " + std::to_string(network.domain) + " devices (" +
                     rate_text(network.up) + " each way)";
  if (network.out) said += ", the network gives a device " + rate_text(*network.out);
  network.assumptions.push_back(said +
                                "; for a server with other links, PCIe alone for example, give "
                                "--machine FILE with its scale_up and scale_out");
}

int group_span(int size, int stride) { return (size - 1) * stride + 1; }

}  // namespace

Result<Network> make_network(const Machine& machine, const NetworkOptions& options) {
  Network network;
  if (options.domain && *options.domain < 1) {
    return Error{.what = "a domain of " + std::to_string(*options.domain) + " devices",
                 .hint = "give --gpus-per-node 1 or more"};
  }
  if (auto error = add_scale_up(machine, options, network)) return *std::move(error);
  if (machine.scale_out && machine.scale_out->per_direction) {
    const ScaleOut& out = *machine.scale_out;
    network.out = out.per_direction;
    network.pod_devices = out.pod_devices;
    network.oversubscription = out.oversubscription.value_or(1.0);
    if (out.reduction) network.out_reduction_from = out.reduction->group_from.value_or(2);
  }
  tell_optional_links(machine, network);
  const AssumedTiming up =
      resolve(machine.scale_up ? machine.scale_up->timing : std::nullopt, false, network.up_timing);
  const AssumedTiming out = resolve(machine.scale_out ? machine.scale_out->timing : std::nullopt,
                                    true, network.out_timing);
  // Nothing is assumed about links that do not exist.
  note_timing(network.domain > 1 ? up : AssumedTiming{}, network.out ? out : AssumedTiming{},
              network.assumptions);
  if (machine.scale_up && machine.scale_up->timing)
    network.up_measured_to = machine.scale_up->timing->measured_to;
  if (machine.scale_out && machine.scale_out->timing)
    network.out_measured_to = machine.scale_out->timing->measured_to;
  add_tiers(machine, network);
  return network;
}

ByteRate domain_rate(const Network& network, int members, int stride) {
  if (members < 2) return {};
  switch (network.topology) {
    case Topology::switched:
      return network.up;
    case Topology::mesh:
      return std::min(network.up, network.peer * static_cast<double>(members - 1));
    case Topology::hybrid_mesh: {
      if (network.peers.empty()) {
        return std::min(network.up, network.peer * static_cast<double>(members - 1));
      }
      ByteRate sum{};
      for (int m = 1; m < members; ++m) {
        const auto place = static_cast<std::size_t>(m * stride - 1);
        if (place < network.peers.size()) sum += network.peers[place];
      }
      // Pairs without a link of their own go through a peer, which spends half of a link's rate on
      // this.
      return sum.value > 0 ? std::min(network.up, sum) : network.peer * 0.5;
    }
    case Topology::torus_2d:
    case Topology::torus_3d:
      return members >= network.domain ? network.up : std::min(network.up, network.peer * 2.0);
  }
  return network.up;
}

ByteRate slowest_rate(const GroupPlacement& group) {
  if (group.domains == 1) return group.within;
  const ByteRate across = group.across * (1.0 / group.members);
  return group.members == 1 ? across : std::min(group.within, across);
}

std::optional<GroupPlacement> place(int size, int stride, const Network& network) {
  check(size >= 1 && stride >= 1, "a group has ranks and a stride");
  const int slots = std::max(1, network.domain / stride);  // of the group in one domain
  GroupPlacement group{.size = size, .members = std::min(size, slots), .stride = stride};
  if (size > slots) {
    if (!network.out) return std::nullopt;
    group.domains = (size + slots - 1) / slots;
    const int rest = size % slots;
    if (rest != 0) group.members = rest;
    group.across = *network.out * static_cast<double>(group.members);
    if (network.pod_devices && group_span(size, stride) > *network.pod_devices) {
      group.across = group.across * (1 / network.oversubscription);
    }
  }
  group.within = domain_rate(network, group.members, stride);
  return group;
}

std::optional<GroupPlacement> place_in_domains(int domains, int members, const Network& network) {
  check(domains >= 1 && members >= 1, "a group has ranks");
  if (members > network.domain || (domains > 1 && !network.out)) return std::nullopt;
  GroupPlacement group{.size = domains * members, .members = members, .domains = domains};
  group.within = domain_rate(network, members, 1);
  if (domains == 1) return group;
  group.across = *network.out * static_cast<double>(members);
  if (network.pod_devices && domains * network.domain > *network.pod_devices) {
    group.across = group.across * (1 / network.oversubscription);
  }
  return group;
}

}  // namespace stepscope
