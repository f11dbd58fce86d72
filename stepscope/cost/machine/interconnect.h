// SPDX-License-Identifier: Apache-2.0
// A machine's links as tiers, ready for timing: the domain of scale-up links, then the ports that
// join domains, then the links shared by pods. Also the placement of a group's ranks on them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/link_parameters.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

// One level of the hierarchy, innermost first.
struct Tier {
  std::string name;
  std::optional<int> devices;  // in one unit of it; absent: all
  ByteRate per_device;         // per direction
};

// Every parameter of one tier's timing. Parameters of the other kind of tier are NaN and never
// read.
using ResolvedTiming = std::array<double, link_parameter_count>;

constexpr double of(const ResolvedTiming& timing, LinkParameter p) {
  return timing[static_cast<std::size_t>(p)];
}
// The parameter of a protocol. `ll` is the first of three (or two) adjacent parameters.
constexpr double of(const ResolvedTiming& timing, LinkParameter ll, Protocol protocol) {
  return timing[static_cast<std::size_t>(ll) + static_cast<std::size_t>(protocol)];
}

struct Network {
  int domain = 1;  // devices
  Topology topology = Topology::switched;
  ByteRate up{};                // from one device to all of its domain
  ByteRate peer{};              // from one device to one other
  std::vector<ByteRate> peers;  // hybrid mesh: to the device 1, 2, ... places further
  std::optional<ByteRate> out;  // of one device across domains; absent: no such network
  std::optional<int> pod_devices;
  double oversubscription = 1;            // between pods
  std::optional<int> up_reduction_from;   // smallest group that the domain's switches reduce
  std::optional<int> out_reduction_from;  // smallest group that switches across domains reduce
  ResolvedTiming up_timing{};
  ResolvedTiming out_timing{};
  std::optional<Bytes> up_measured_to;  // LinkTiming::measured_to of both
  std::optional<Bytes> out_measured_to;
  std::vector<Tier> tiers;
  std::vector<std::string> assumptions;  // values that the machine lacks, and their substitutes
};

struct NetworkOptions {
  std::optional<int> domain;  // devices per domain, if the machine does not say or it differs
};

// Errors name the field that the machine lacks. If the topology is not stated, it is a switch if
// one peer gets a device's whole rate, else a mesh.
[[nodiscard]] Result<Network> make_network(const Machine& machine,
                                           const NetworkOptions& options = {});

// The placement of a group. Every device drives its own share of the ports, because sibling groups
// run at the same time.
struct GroupPlacement {
  int size = 1;
  int members = 1;  // in the domain with the fewest
  int domains = 1;
  int stride = 1;     // in the job's rank order
  ByteRate within{};  // of one device to the members of its domain; 0 if it is alone there
  ByteRate across{};  // of the members of one domain together; 0 if there is only one domain
};

// The rate of one device on the slowest tier that the group uses. REQUIRES: the group has two
// devices.
[[nodiscard]] ByteRate slowest_rate(const GroupPlacement& group);

// Ranks first, first + stride, ..., where consecutive ranks fill domains. Tensor parallelism has
// stride 1, the next dimension stride tp, and so on. Groups start at a multiple of their span if
// that matters. Absent if the group leaves the domain and there is no network across domains.
[[nodiscard]] std::optional<GroupPlacement> place(int size, int stride, const Network& network);
// `members` neighbours in each of `domains` domains.
[[nodiscard]] std::optional<GroupPlacement> place_in_domains(int domains, int members,
                                                             const Network& network);

// One device's rate to `members` of its domain (including itself) that are `stride` places apart. A
// switch gives the whole rate, a mesh the links to those peers. A torus gives the two links of one
// axis until the group is the whole domain.
[[nodiscard]] ByteRate domain_rate(const Network& network, int members, int stride);

}  // namespace stepscope
