// SPDX-License-Identifier: Apache-2.0
// The dependencies of the recorded steps over all ranks, as one graph that can be replayed:
//
//   host       A thread's own time until it launches, blocks or computes. A thread goes on in
//              order. If it showed no row while another thread of its process worked, it also
//              waited for that thread (the backward thread for the main thread and the reverse).
//   launch     The call, and the latency from its return to the operation: to the operation's begin
//              if nothing else came later and that is at most 20 µs, else the least latency on this
//              rank. A call that blocks has handed its operation over when such calls usually
//              return: the rest of it is waiting. Only the first nodes of a launched graph have a
//              launch; the others wait for the nodes before them, so gaps between nodes are the
//              device's.
//   compute, copy, comm
//              Operations of a device in the order of their stream, also where a kernel begins
//              before its predecessor has ended (stream_order.h). With "Stream Wait Event" rows
//              they also follow the awaited operation. Without such rows they follow what the
//              steps and ranks of the same program show together (learned_order.h). By the rule of
//              c10d a communication kernel also follows the last operation launched before it
//              elsewhere, unless the instants of a step contradict. An operation that still begins
//              without reason, within 20 µs of the end of an operation of another stream that was
//              launched before it, waited for that one: streams stand idle for events only.
//              The first operation of a stream that begins 100 µs after its launch or later, with
//              no such end before it, waits for work from before the recording.
//   sync       The return of a call that waited for the device, or for room in its launch queue.
//              It lasts at most 100 µs. If nothing ended within a long call, it waited for what
//              was not recorded. A copy of pageable memory to the device waits until it may begin,
//              and is its host's time from then on.
//   held       A device that has run empty is taken away for a while, whatever is launched
//              meanwhile: another process's time slice (stream_order.h).
//   arrival → join → transfer
//              A collective matched over its ranks. The transfer begins when everyone the member
//              waits for has arrived (collective_times.h).
//
// In a CPU-only trace `compute` is the innermost operator at an instant on the main thread and the
// backward threads, and `sync` is the return from waiting for a collective.
//
// The time from the last of these to the measured start is the node's delay; its cause is unknown.
// A replay with all delays gives the measured instants exactly. Without them it shows how much the
// graph alone explains.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/graph/replay_graph.h"
#include "stepscope/base/crew.h"

namespace stepscope {

// The end of a step: of the last operation that it launched.
struct StepEnd {
  std::int64_t index = 0;             // Step::index
  bool follows = false;               // the step before it in the list is the one before it
  std::vector<std::uint32_t> node{};  // by view; no_node for a view without steps
  std::vector<Ns> measured{};         // by view, after `origin`
};

struct StepGraph {
  ReplayGraph graph;  // instants count from `origin`
  std::vector<NodeKind> kind;
  std::vector<std::uint32_t> view;    // of a join: of its last member
  std::vector<SliceId> slice;         // the operation; the call after `host`, `launch`, `sync`
  std::vector<std::uint32_t> detail;  // comm, arrival, transfer: row of RankCalls::calls; join: row
                                      // of CollectiveMatches::matched; else no_row

  std::vector<std::uint32_t> begin;  // by view: its first step begins when this node starts
  std::vector<std::uint32_t> end;    // by view: its last step ends with this node
  std::vector<std::size_t> steps;    // by view: number of steps between them
  std::vector<StepEnd> step_ends;    // of the steps that all views have; empty without a device
  Ns origin{};
  bool clocks_comparable =
      false;  // clocks are comparable: the job's time is last end − first begin

  std::uint64_t joined = 0;           // calls in a join or a pair
  std::uint64_t unjoined = 0;         // calls not joined (peers not traced, clocks off)
  std::uint64_t removed_edges = 0;    // edges that closed a cycle
  std::uint64_t negative_delays = 0;  // nodes that began before the end of a predecessor

  [[nodiscard]] std::size_t size() const { return kind.size(); }
};

// Ignores views without steps. O(slices log slices) per view.
[[nodiscard]] StepGraph build_step_graph(std::span<const RankView> views, const Collectives& job,
                                         const Workers& workers = {});

// The time of a step in a replay: the mean time from the end of a step to the end of the next, so
// neither the first step, which the recording began, nor what the last step leaves running counts.
// A step of the job ends when its last rank does if `together`; else the slowest view counts.
// Without two steps in sequence, and without a device, the mean over the steps between `begin` and
// `end`.
[[nodiscard]] Ns step_time(const StepGraph& graph, const std::function<Ns(std::uint32_t)>& end_of,
                           const std::function<Ns(std::uint32_t)>& duration_of);
// The nodes that it asks for, ascending.
[[nodiscard]] std::vector<std::uint32_t> step_time_nodes(const StepGraph& graph);
// The same of the measured instants; absent where the mean is not over ends of steps.
[[nodiscard]] std::optional<Ns> measured_step_time(const StepGraph& graph);
[[nodiscard]] inline Ns step_time(const StepGraph& graph, std::span<const Ns> duration,
                                  std::span<const Ns> end) {
  return step_time(
      graph, [&](std::uint32_t n) { return end[n]; }, [&](std::uint32_t n) { return duration[n]; });
}

}  // namespace stepscope
