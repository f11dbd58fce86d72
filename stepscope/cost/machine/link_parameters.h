// SPDX-License-Identifier: Apache-2.0
// The few numbers that describe the speed of collectives over one tier of links, in one table:
// their names in a machine file, their usual values if nothing was measured, and their bounds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

// NCCL's three protocols for passing a message on: flags in every 8 bytes, flags in every 128, or
// large chunks with a fence after each.
enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t protocol_count = 3;
inline constexpr std::array<std::string_view, protocol_count> protocol_names = {"LL", "LL128",
                                                                                "Simple"};
static_assert(protocol_names[static_cast<std::size_t>(Protocol::simple)] == "Simple");

// Costs of collectives on one tier of links; cost/time/collective_cost.h has the formulas. Times
// are in us; the others are ratios.
enum class LinkParameter : std::uint8_t {
  start_us,   // of a call; on the outer tier the extra cost of crossing domains
  hop_ll_us,  // one step of a ring, by protocol
  hop_ll128_us,
  hop_simple_us,
  tree_start_us,   // of a call on a tree across domains
  tree_hop_ll_us,  // one level of a tree, by protocol
  tree_hop_ll128_us,
  tree_hop_simple_us,
  rate_ll,  // share of Simple's rate that the other protocols reach
  rate_ll128,
  link_efficiency,  // share of the links' rate that large messages reach
  pass_all_reduce,  // work of each device on the whole buffer, in units of buffer / links' rate
  pass_all_gather,
  pass_reduce_scatter,
  turn,             // slowdown if the receiving port also sends: rate / (1 + turn / ports)
  tree_efficiency,  // of a tree, in addition to link_efficiency
  tree_fill,        // of a tree with chunks: 1 for the best size of chunks, 0 without chunks
  exposed,          // share of the shorter of steps and transfer that the longer one does not hide
  reduce_start_us,  // reduction in the switches: of a call, up and down, share of the links' rate
  reduce_hop_us,
  reduce_efficiency
};
inline constexpr std::size_t link_parameter_count = 21;

struct LinkParameterInfo {
  std::string_view name;      // the field of a machine file
  std::optional<double> up;   // usual value inside a domain
  std::optional<double> out;  // usual value across domains; absent: not a parameter of that tier
  double low, high;           // bounds for files and fits
};

// Usual values. Steps, and the rates of LL and LL128: the geometric mean of the fits of this
// catalogue's machines (NVLink nodes; Slingshot) and of NCCL's own constants (src/graph/tuning.cc:
// InfiniBand). 0.95: an all-reduce over 4 nodes of 8 B200 reaches this share of its ports (382 of
// 400 GB/s). Reduction in NVLink switches: the fit of H200.
inline constexpr std::array<LinkParameterInfo, link_parameter_count> link_parameters = {{
    {"start_us", 20.0, 18.0, 0.1, 1e4},
    {"hop_ll_us", 0.75, 4.0, 0.01, 1e4},
    {"hop_ll128_us", 3.5, 5.1, 0.01, 1e4},
    {"hop_simple_us", 6.5, 20.0, 0.01, 1e4},
    {"tree_start_us", std::nullopt, 10.0, 0.1, 1e4},
    {"tree_hop_ll_us", 0.6, 9.2, 0.01, 1e4},
    {"tree_hop_ll128_us", 1.25, 15.0, 0.01, 1e4},
    {"tree_hop_simple_us", 6.0, 32.0, 0.01, 1e4},
    {"rate_ll", 0.25, 0.15, 0.02, 0.5},
    {"rate_ll128", 0.7, 0.45, 0.05, 1.0},
    {"link_efficiency", 0.95, 0.95, 0.05, 1.0},
    {"pass_all_reduce", 0.35, std::nullopt, 1e-3, 4.0},
    {"pass_all_gather", 0.25, std::nullopt, 1e-3, 4.0},
    {"pass_reduce_scatter", 0.25, std::nullopt, 1e-3, 4.0},
    {"turn", std::nullopt, 0.1, 1e-3, 4.0},
    {"tree_efficiency", std::nullopt, 0.95, 0.2, 1.0},
    {"tree_fill", std::nullopt, 0.4, 1e-3, 2.0},
    {"exposed", 0.2, 0.4, 1e-3, 8.0},
    {"reduce_start_us", 38.0, 20.0, 0.1, 1e4},
    {"reduce_hop_us", 1.7, 5.0, 0.01, 1e4},
    {"reduce_efficiency", 1.09, 0.9, 0.05, 2.0},
}};
static_assert(link_parameters[static_cast<std::size_t>(LinkParameter::reduce_efficiency)].name ==
              "reduce_efficiency");

constexpr const LinkParameterInfo& info(LinkParameter p) {
  return link_parameters[static_cast<std::size_t>(p)];
}

}  // namespace stepscope
