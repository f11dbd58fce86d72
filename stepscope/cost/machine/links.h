// SPDX-License-Identifier: Apache-2.0
// The links of a machine: the links between the devices of a domain, the network between domains,
// and the measurements of each. Rates are per device and direction. A number that nobody measured
// is absent; cost/machine/interconnect.h has the substitutes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/cost/machine/link_parameters.h"

namespace stepscope {

enum class Topology : std::uint8_t { switched, mesh, hybrid_mesh, torus_2d, torus_3d };
inline constexpr std::array<std::string_view, 5> topology_names = {"switch", "mesh", "hybrid mesh",
                                                                   "2D torus", "3D torus"};
static_assert(topology_names[static_cast<std::size_t>(Topology::torus_3d)] == "3D torus");

struct LinkTiming {
  std::array<std::optional<double>, link_parameter_count> values;
  std::string source;                  // of the data behind the fit
  std::optional<Bytes> measured_to{};  // the largest size in it, if known
};

// Switches that reduce: NVLS, SHARP. All-reduce only.
struct SwitchReduction {
  std::string name;
  std::optional<int> group_from;  // smallest group the library uses it for
};

// The links between the devices of one domain (often a server): NVLink, xGMI, ICI, ...
struct ScaleUp {
  std::string name;
  std::optional<ByteRate> per_direction;  // one device to all its peers
  std::optional<ByteRate> peer_to_peer;   // one device to one peer
  std::optional<int> domain;              // devices
  std::optional<Topology> topology;
  bool optional = false;  // many servers with this device lack these links (bridges)
  std::vector<ByteRate>
      peers;  // of a hybrid mesh: to the device 1, 2, ... places further; or empty
  std::optional<SwitchReduction> reduction;
  std::optional<LinkTiming> timing;
};

// The network beyond the domain: one device's typical share of it.
struct ScaleOut {
  std::string name;
  std::optional<ByteRate> per_direction;
  std::optional<int> ports_per_node;       // NICs
  std::optional<int> devices_per_node;     // devices that share these NICs
  std::optional<bool> rails;               // port i of every node is on a switch of its own
  std::optional<int> pod_devices;          // devices in one full-rate part of the network
  std::optional<double> oversubscription;  // between pods: ratio of port rate to spine rate
  std::optional<SwitchReduction> reduction;
  std::optional<LinkTiming> timing;
};

}  // namespace stepscope
