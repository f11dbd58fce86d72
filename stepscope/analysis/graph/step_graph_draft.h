// SPDX-License-Identifier: Apache-2.0
// The part of a step graph from one rank, before it is joined with the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stepscope/analysis/collectives/collective_times.h"
#include "stepscope/analysis/graph/learned_order.h"
#include "stepscope/analysis/graph/replay_graph.h"
#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/steps/steps.h"

namespace stepscope {

// A thread may have waited in a gap of at least this length between two of its operators.
inline constexpr Ns shortest_hole = std::chrono::microseconds{20};

// The first element of `sorted` that is `at` a later instant. For instants near the end, which are
// found in O(log of the distance from there).
template <class Element>
auto first_after(std::vector<Element>& sorted, Ns instant) {
  const auto later = [](Ns time, const Element& e) { return time < e.at; };
  auto last = sorted.end();
  for (std::ptrdiff_t back = 1;; back *= 2) {
    const auto first = last - std::min(back, last - sorted.begin());
    if (first == sorted.begin() || !later(instant, *first))
      return std::upper_bound(first, last, instant, later);
    last = first;
  }
}

struct ViewDraft {
  std::vector<Ns> start;  // measured
  std::vector<Ns> duration;
  std::vector<NodeKind> kind;
  std::vector<SliceId> slice;
  std::vector<std::uint32_t> detail;
  std::vector<GraphEdge> edges;
  std::vector<std::uint32_t> arrival;   // by call; no_node if not joined
  std::vector<std::uint32_t> transfer;  // by call; likewise
  std::uint32_t begin = no_node;
  std::uint32_t end = no_node;
  std::vector<std::uint32_t> step_end;  // by step of the view; empty without a device
  std::uint64_t unjoined = 0;

  std::uint32_t add(NodeKind node_kind, Ns from, Ns until, SliceId row,
                    std::uint32_t detail_row = no_row) {
    start.push_back(from);
    duration.push_back(until - from);
    kind.push_back(node_kind);
    slice.push_back(row);
    detail.push_back(detail_row);
    return static_cast<std::uint32_t>(start.size() - 1);
  }
  void reserve(std::size_t nodes) {
    start.reserve(nodes);
    duration.reserve(nodes);
    kind.reserve(nodes);
    slice.reserve(nodes);
    detail.reserve(nodes);
    edges.reserve(nodes + nodes / 2);
  }
  [[nodiscard]] Ns end_of(std::uint32_t node) const { return start[node] + duration[node]; }
  // Adds an edge, unless `from` ended after `to` began: then `to` did not wait for it.
  bool connect(std::uint32_t from, std::uint32_t to) {
    if (from == no_node || end_of(from) > start[to]) return false;
    edges.emplace_back(from, to);
    return true;
  }
};

struct ViewInput {
  const RankView& view;
  const RankCalls& calls;
  std::span<const CallTime> times;  // by call
  const std::vector<bool>& joined;  // by call
};

// Adds a communication operation: one node, or arrival and transfer. Returns the last node. `first`
// is the node that waits for earlier work.
std::uint32_t add_call(ViewDraft& draft, const ViewInput& input, std::uint32_t call,
                       std::uint32_t& first);

// Only for views with steps.
[[nodiscard]] ViewDraft draft_cpu_view(const ViewInput& input);

}  // namespace stepscope
