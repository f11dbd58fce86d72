// SPDX-License-Identifier: Apache-2.0
// What each thing in the recorded steps waited for, over all ranks, as one graph that replays:
//
//   host       a thread's own time until it launches, blocks or computes; the thread goes on in
//              order, and where it showed no row while another thread of its process worked, it
//              also waited for that one (the backward thread for the main one and the reverse)
//   launch     the call, and what lies at the least between its return and the operation on this
//   rank compute, copy, comm   operations of a device in the order of their stream. Where the trace
//   has
//              "Stream Wait Event" rows, after the operation waited for. Where not: a communication
//              kernel after the last operation launched before it elsewhere (c10d orders its stream
//              behind the current one), and any operation that started later than all this let it,
//              but at most 20 µs after one of another stream ended, after that one
//   sync       the return of a call that waited for the device
//   held       a device that has run empty is taken away for a while, whatever is launched
//              meanwhile: another process's time slice (device_holds.h)
//   arrival → join → transfer   a collective matched over its ranks: the transfer begins when all
//              that the member waits for have arrived (collective_times.h)
//
// In a CPU-only trace `compute` is the innermost operator at an instant on the main and the
// backward threads, and `sync` the return from waiting for a collective.
//
// What is left between the last of these and the measured start is the node's delay: nobody knows
// why. Replay with all delays gives the measured instants exactly; without them it tells what the
// graph alone explains (diagnosis 2.2).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/replay/node_kind.h"
#include "stepscope/analysis/replay/replay_graph.h"

namespace stepscope {

struct StepGraph {
  ReplayGraph graph;  // instants count from `origin`
  std::vector<NodeKind> kind;
  std::vector<std::uint32_t> view;  // of a join: of its last member
  std::vector<SliceId> slice;       // the operation; the call that `host`, `launch`, `sync` lead to
  std::vector<std::uint32_t> detail;  // comm, arrival, transfer: row of RankCalls::calls; join: row
                                      // of CollectiveMatches::matched; else no_row

  std::vector<std::uint32_t> begin;  // by view: its first step begins where this node starts
  std::vector<std::uint32_t> end;    // by view: its last step ends with this node
  std::vector<std::size_t> steps;    // by view: how many lie between
  Ns origin{};
  bool together = false;  // clocks are comparable: the job's time is last end − first begin

  std::uint64_t joined = 0;           // calls that are members of a join or a pair
  std::uint64_t unjoined = 0;         // calls that are not (peers not traced, clocks off)
  std::uint64_t removed_edges = 0;    // that closed a circle
  std::uint64_t negative_delays = 0;  // nodes that began before something they wait for
  std::uint64_t overlapping = 0;      // operations that began before the one before them on their
                                      // stream ended

  [[nodiscard]] std::size_t size() const { return kind.size(); }
};

// Views without steps contribute nothing. O(slices log slices) for each view.
[[nodiscard]] StepGraph build_step_graph(std::span<const RankView> views, const Collectives& job,
                                         unsigned threads = 1);

// The time of a step in a replay: mean over the steps between begin and end. Of the job where
// `together`, else of the slowest view.
[[nodiscard]] Ns step_time(const StepGraph& graph, std::span<const Ns> end,
                           const std::function<Ns(std::uint32_t)>& duration_of);
[[nodiscard]] inline Ns step_time(const StepGraph& graph, std::span<const Ns> duration,
                                  std::span<const Ns> end) {
  return step_time(graph, end, [&](std::uint32_t n) { return duration[n]; });
}

}  // namespace stepscope
