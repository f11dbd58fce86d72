// SPDX-License-Identifier: Apache-2.0
// The terms of every algorithm and protocol for one collective (the table of collective_cost.h),
// used for the time, the explanation and the fit. Internal: times in us, rates in bytes/us.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/model/formula.h"

namespace stepscope {

enum class Algorithm : std::uint8_t { ring, tree, hierarchical, direct, in_network };
inline constexpr std::array<std::string_view, 5> algorithm_names = {"ring", "tree", "hierarchical",
                                                                    "direct", "in-network"};
static_assert(algorithm_names[static_cast<std::size_t>(Algorithm::in_network)] == "in-network");

namespace collective_terms {

struct Terms {
  double start = 0;
  double hops = 0, hop = 0;  // within domains
  double hops_across = 0, hop_across = 0;
  double within_factor = 0;  // transfer within = S x factor / rate
  double across_factor = 0;
  double exposed = 1;
  double fill = 0;
};

// The values of a group for all algorithms, computed once per call.
struct Group {
  double n, members, domains;
  double rounds;           // passes over the buffer
  double per_byte_within;  // us; 0 if no link of the domain is used
  double per_byte_across;
  bool across;
};

// Times are stored in us here and printed in seconds.
template <formula::Number N>
N microseconds(double us, std::string_view name) {
  return formula::seconds<N>(std::same_as<N, double> ? us : us * 1e-6, name);
}

// Names the links of a figure.
inline double of_links(double x, std::string_view) { return x; }
inline Formula of_links(const Formula& f, std::string_view links) {
  const auto told = [links](const Formula::Text& t) {
    return Formula::Text{t.text + std::string(links), Formula::Binding::product};
  };
  return {told(f.words()), told(f.figures()), f.value()};
}

template <formula::Number N>
N steps(const Terms& t) {
  using formula::count;
  return of_links(count<N>(t.hops, "hops") * microseconds<N>(t.hop, "hop"), " within") +
         of_links(count<N>(t.hops_across, "hops") * microseconds<N>(t.hop_across, "hop"),
                  " across");
}

template <formula::Number N>
N transfer(const Terms& t, const Group& g, double bytes) {
  const auto over = [bytes](double factor, double per_byte, std::string_view links) {
    if constexpr (std::same_as<N, double>)
      return bytes * (factor * per_byte);
    else
      return of_links(formula::count<N>(factor, "factor") *
                          formula::at(formula::bytes<N>(bytes, "bytes"), per_byte * 1e-6, "rate"),
                      links);
  };
  const double within = t.within_factor * g.per_byte_within;
  const double across = t.across_factor * g.per_byte_across;
  if (across <= 0) return over(t.within_factor, g.per_byte_within, " within");
  if (within <= 0) return over(t.across_factor, g.per_byte_across, " across");
  return formula::max(over(t.within_factor, g.per_byte_within, " within"),
                      over(t.across_factor, g.per_byte_across, " across"));
}

// `exposed` 0: the longer of both; 1: their sum. `fill` 1: a pipeline with the best size of chunks,
// (sqrt a + sqrt b)^2.
inline double combined(const Terms& t, double a, double b) {
  const double sum = a + b;
  const double hidden = t.exposed == 1 ? sum : std::sqrt((a - b) * (a - b) + 4 * t.exposed * a * b);
  const double filling = t.fill > 0 ? 2 * t.fill * std::sqrt(a * b) : 0;
  return (sum + hidden) / 2 + filling;
}
inline Formula combined(const Terms& t, const Formula& a, const Formula& b) {
  using formula::count;
  const std::string more = ", " + count<Formula>(t.exposed).figures().text + ", " +
                           count<Formula>(t.fill).figures().text + ")";
  return {{"combined(steps, transfer, exposed, fill)"},
          {"combined(" + a.figures().text + ", " + b.figures().text + more},
          combined(t, a.value(), b.value())};
}

template <formula::Number N>
N time(const Terms& t, const Group& g, double bytes) {
  return microseconds<N>(t.start, "start") + combined(t, steps<N>(t), transfer<N>(t, g, bytes));
}

constexpr std::array<Protocol, protocol_count> protocols = {Protocol::ll, Protocol::ll128,
                                                            Protocol::simple};

inline Group group_of(const GroupPlacement& g, CollectiveKind kind) {
  const bool twice = kind == CollectiveKind::all_reduce || kind == CollectiveKind::barrier;
  return {.n = static_cast<double>(g.size),
          .members = static_cast<double>(g.members),
          .domains = static_cast<double>(g.domains),
          .rounds = twice ? 2.0 : 1.0,
          .per_byte_within = g.within.value > 0 ? 1e6 / g.within.value : 0,
          .per_byte_across = g.across.value > 0 ? 1e6 / g.across.value : 0,
          .across = g.domains > 1};
}

// Share of the wire that a protocol uses for data.
inline double rate(const ResolvedTiming& timing, Protocol protocol) {
  return protocol == Protocol::simple ? 1.0 : of(timing, LinkParameter::rate_ll, protocol);
}
// 1 / (share of their rate that the ports of a domain reach).
inline double port_cost(const Network& w, const Group& g) {
  return (1 + of(w.out_timing, LinkParameter::turn) / g.members) /
         of(w.out_timing, LinkParameter::link_efficiency);
}
inline double exposed(const Network& w, const Group& g) {
  return of(g.across ? w.out_timing : w.up_timing, LinkParameter::exposed);
}
inline double start(const Network& w, const Group& g) {
  return of(w.up_timing, LinkParameter::start_us) +
         (g.across ? of(w.out_timing, LinkParameter::start_us) : 0);
}

// Time in which every device copies or sums the whole buffer, besides the wire. A broadcast copies
// like an all-gather; a reduce sums like a reduce-scatter.
inline double pass(const Network& w, CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::broadcast:
      return of(w.up_timing, LinkParameter::pass_all_gather);
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::reduce:
      return of(w.up_timing, LinkParameter::pass_reduce_scatter);
    default:
      return of(w.up_timing, LinkParameter::pass_all_reduce);
  }
}

inline Terms ring(const Network& w, CollectiveKind kind, const Group& g, Protocol protocol) {
  const bool rooted = kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce;
  const double volume = rooted ? 1.0 : g.rounds * (g.n - 1) / g.n;
  Terms t{.start = start(w, g),
          .hops = g.rounds * (g.across ? g.n - g.domains : g.n - 1),
          .hop = of(w.up_timing, LinkParameter::hop_ll_us, protocol),
          .exposed = exposed(w, g)};
  if (g.per_byte_within > 0) {
    t.within_factor = (volume / of(w.up_timing, LinkParameter::link_efficiency) + pass(w, kind)) /
                      rate(w.up_timing, protocol);
  }
  if (!g.across) return t;
  t.hops_across = g.rounds * (g.domains - 1);
  t.hop_across = of(w.out_timing, LinkParameter::hop_ll_us, protocol);
  t.across_factor = volume * port_cost(w, g) / rate(w.out_timing, protocol);
  return t;
}

// Two trees over the domains, each with half of the buffer, and a chain inside each domain. A port
// carries both halves up and down. Between two domains each tree uses one direction once.
inline double tree_volume(const Group& g) { return g.domains > 2 ? 2.0 : 1.0; }
inline double tree_levels(const Group& g) {
  return std::bit_width(static_cast<unsigned>(g.domains) - 1U);
}

inline Terms tree(const Network& w, const Group& g, Protocol protocol) {
  Terms t{.start = of(w.out_timing, LinkParameter::tree_start_us),
          .hops = 2 * (g.members - 1),
          .hop = of(w.up_timing, LinkParameter::tree_hop_ll_us, protocol),
          .hops_across = 2 * tree_levels(g),
          .hop_across = of(w.out_timing, LinkParameter::tree_hop_ll_us, protocol),
          .across_factor = tree_volume(g) * port_cost(w, g) /
                           of(w.out_timing, LinkParameter::tree_efficiency) /
                           rate(w.out_timing, protocol),
          .fill = of(w.out_timing, LinkParameter::tree_fill)};
  if (g.per_byte_within > 0) {
    t.within_factor =
        2 / of(w.up_timing, LinkParameter::link_efficiency) / rate(w.up_timing, protocol);
  }
  return t;
}

// Inside one domain the library's tree is a chain. It has the steps of a ring, and no port sends
// fewer bytes: a device between two others passes the sum up and the result down.
inline Terms chain(const Network& w, const Group& g, Protocol protocol) {
  const double volume = g.members > 2 ? 2 : 1;
  return {.start = start(w, g),
          .hops = 2 * (g.members - 1),
          .hop = of(w.up_timing, LinkParameter::hop_ll_us, protocol),
          .within_factor = (volume / of(w.up_timing, LinkParameter::link_efficiency) +
                            pass(w, CollectiveKind::all_reduce)) /
                           rate(w.up_timing, protocol),
          .exposed = exposed(w, g)};
}

inline bool switches_reduce(const Network& w, const GroupPlacement& g) {
  return w.up_reduction_from && g.members >= *w.up_reduction_from;
}

inline Terms in_network(const Network& w, const Group& g) {
  return {.start = of(w.up_timing, LinkParameter::reduce_start_us),
          .hops = 2,
          .hop = of(w.up_timing, LinkParameter::reduce_hop_us),
          .within_factor =
              2 * (g.members - 1) / g.members / of(w.up_timing, LinkParameter::reduce_efficiency),
          .fill = 1};
}

// All-reduce with reducing switches: first in the domain, then every device's share over the trees
// (or over the outer switches, which send each byte once).
inline Terms switched_hierarchy(const Network& w, const GroupPlacement& placed, const Group& g,
                                Protocol protocol) {
  Terms t = in_network(w, g);
  t.start += of(w.out_timing, LinkParameter::start_us);
  const bool outer = w.out_reduction_from && placed.size >= *w.out_reduction_from;
  t.hops_across = outer ? 2 : 2 * tree_levels(g);
  t.hop_across = outer ? of(w.out_timing, LinkParameter::reduce_hop_us)
                       : of(w.out_timing, LinkParameter::tree_hop_ll_us, protocol);
  const double efficiency =
      of(w.out_timing, outer ? LinkParameter::reduce_efficiency : LinkParameter::tree_efficiency);
  t.across_factor =
      (outer ? 1.0 : tree_volume(g)) * port_cost(w, g) / efficiency / rate(w.out_timing, protocol);
  return t;
}

// Rings in the domains, then rings with one member per domain, pipelined.
inline Terms ring_hierarchy(const Network& w, CollectiveKind kind, const Group& g,
                            Protocol protocol) {
  const double inner = (g.members - 1) / g.members;
  Terms t{.start = start(w, g),
          .hops = g.rounds * (g.members - 1),
          .hop = of(w.up_timing, LinkParameter::hop_ll_us, protocol),
          .hops_across = g.rounds * (g.domains - 1),
          .hop_across = of(w.out_timing, LinkParameter::hop_ll_us, protocol),
          .across_factor = g.rounds * (g.domains - 1) / g.domains * port_cost(w, g) /
                           rate(w.out_timing, protocol),
          .exposed = exposed(w, g)};
  if (g.per_byte_within > 0) {
    t.within_factor =
        (g.rounds * inner / of(w.up_timing, LinkParameter::link_efficiency) + pass(w, kind)) /
        rate(w.up_timing, protocol);
  }
  return t;
}

// A message to each peer at once; the sender sets them up one after the other. A hierarchical
// all-to-all first gathers the data for one domain: fewer messages, the same bytes.
inline Terms direct(const Network& w, const Group& g, Protocol protocol, bool gathered) {
  const double outside = g.n - g.members;
  Terms t{.start = start(w, g),
          .hops = g.members - 1,
          .hop = of(w.up_timing, LinkParameter::hop_ll_us, protocol),
          .exposed = exposed(w, g)};
  if (g.per_byte_within > 0) {
    t.within_factor = (gathered ? (g.members - 1) / g.members : (g.members - 1) / g.n) /
                      of(w.up_timing, LinkParameter::link_efficiency) / rate(w.up_timing, protocol);
  }
  if (!g.across) return t;
  t.hops_across = gathered ? g.domains - 1 : outside;
  t.hop_across = of(w.out_timing, LinkParameter::hop_ll_us, protocol);
  // S is one device's buffer. The ports of its domain carry `members` such buffers.
  t.across_factor = g.members * outside / g.n * port_cost(w, g) / rate(w.out_timing, protocol);
  return t;
}

// Everything to or from one device: gather, scatter, send, receive.
inline Terms rooted(const Network& w, const Group& g, Protocol protocol, bool pair) {
  Terms t = direct(w, g, protocol, false);
  t.hops = g.across ? 0 : 1;
  t.hops_across = g.across ? 1 : 0;
  const double share = pair ? 1.0 : (g.n - 1) / g.n;
  t.within_factor = g.across ? 0
                             : share / of(w.up_timing, LinkParameter::link_efficiency) /
                                   rate(w.up_timing, protocol);
  // Only the root's own port.
  if (g.across)
    t.across_factor = share * g.members * port_cost(w, g) / rate(w.out_timing, protocol);
  return t;
}

// Calls visit(Algorithm, Protocol, offered, Terms). Includes algorithms that no library offers only
// if `all`.
template <class Visit>
void for_each(const Network& w, CollectiveKind kind, const GroupPlacement& placed, const Group& g,
              bool all, Visit&& visit) {
  using enum CollectiveKind;
  const bool reduces = kind == all_reduce || kind == barrier;
  const bool in_switch = reduces && switches_reduce(w, placed);
  if (in_switch && !g.across)
    visit(Algorithm::in_network, Protocol::simple, true, in_network(w, g));
  for (const Protocol p : protocols) {
    switch (kind) {
      case all_reduce:
      case barrier:
      case all_gather:
      case reduce_scatter:
        visit(Algorithm::ring, p, true, ring(w, kind, g, p));
        if (g.across && in_switch)
          visit(Algorithm::hierarchical, p, true, switched_hierarchy(w, placed, g, p));
        else if (g.across && all)
          visit(Algorithm::hierarchical, p, false, ring_hierarchy(w, kind, g, p));
        if (g.across && reduces)
          visit(Algorithm::tree, p, true, tree(w, g, p));
        else if (reduces && all)
          visit(Algorithm::tree, p, false, chain(w, g, p));
        break;
      case broadcast:
      case reduce:
        visit(Algorithm::ring, p, true, ring(w, kind, g, p));
        break;
      case all_to_all:
        visit(Algorithm::direct, p, true, direct(w, g, p, false));
        if (g.across && w.topology == Topology::switched)
          visit(Algorithm::hierarchical, p, true, direct(w, g, p, true));
        break;
      case send:
      case recv:
      case send_recv:
      case gather:
      case scatter:
        visit(Algorithm::direct, p, true,
              rooted(w, g, p, kind == send || kind == recv || kind == send_recv));
        break;
      case none:
      case unknown:
        check(false, "the time of what is no collective");
    }
  }
}

}  // namespace collective_terms
}  // namespace stepscope
