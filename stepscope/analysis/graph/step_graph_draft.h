// SPDX-License-Identifier: Apache-2.0
// The part of a step graph from one rank, before it is joined with the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "stepscope/analysis/collectives/collective_times.h"
#include "stepscope/analysis/graph/learned_order.h"
#include "stepscope/analysis/graph/replay_graph.h"
#include "stepscope/analysis/graph/stream_order.h"
#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/steps/counted_steps.h"
#include "stepscope/analysis/steps/host_waits.h"
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
  std::vector<std::uint32_t> transfer;  // by call; no_node if not joined
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

// One rank with a device: host threads, launches, streams.

inline constexpr Ns return_of_call = std::chrono::microseconds{100};  // from the awaited end

// Its operations wait for other streams in ways that the trace does not show. uses() goes to
// learn_order() together with those of the other ranks, and finish() takes the answer.
class DeviceDraft {
 public:
  // Only for a view with steps. `input` must outlive it.
  explicit DeviceDraft(const ViewInput& input);

  [[nodiscard]] std::vector<OrderedUse> uses();
  [[nodiscard]] ViewDraft finish(std::span<const UseOrder> orders);

 private:
  // A call by which a host thread did something visible to the device or to other ranks.
  struct Point {
    Ns at{};
    Ns end{};  // of the wait, if it waits
    SliceId call = no_slice;
    TrackId track{};
    bool sync = false;
    bool full = false;             // a launch that waited for room in the device's queue
    std::uint32_t first_hole = 0;  // of the thread since the point before: [first, end) in holes_
    std::uint32_t end_hole = 0;
  };
  // A thread has no row in [start, end).
  struct Hole {
    Ns start{};
    Ns end{};
  };
  struct Ended {
    Ns at{};
    std::uint32_t node = no_node;
  };
  struct EndedOperation {
    Ns at{};
    std::uint32_t number = 0;  // index into ops_
  };
  struct Sync {
    std::uint32_t host = no_node;
    std::uint32_t node = no_node;
    SliceId call = no_slice;
    Ns start{};
    Ns end{};
  };
  // The last operation of a device, and its idle stretches with the nodes on both sides.
  struct DeviceIdle {
    Ended last;
    std::vector<IdleStretch> stretches;
    std::vector<GraphEdge> between;  // parallel
  };
  // What holds an operation: its launch, and what ends last of everything else that is known.
  struct Held {
    std::uint32_t launch = no_node;
    std::uint32_t other = no_node;
  };

  // step_graph_host.cc
  void find_launches();
  void find_points();
  void points_of(TrackId track);
  void find_full_queues();
  void add_host();
  [[nodiscard]] std::vector<std::uint32_t> awaited_by(const Sync& sync) const;
  void close_sync(const Sync& sync, std::vector<std::uint32_t> nodes);

  // step_graph_device.cc
  void find_operations();
  void find_least_latency();
  void find_clock_lead();
  void add_operations();
  void add_operation(std::uint32_t number);
  void add_launch(std::uint32_t number);
  void follow(std::uint32_t before, std::uint32_t number);
  void follow_last(std::uint32_t number, Ns since, SliceId launch);
  [[nodiscard]] std::uint32_t launched_before(std::uint32_t number) const;
  void add_called_waits(std::vector<OrderedUse>& all) const;
  void note_idle(std::uint32_t number, const Ended& ended);
  void add_holds();
  void add_waits_from_before();
  void add_seen_waits();
  void close_launches();
  void add_last_host();
  void add_ends();
  [[nodiscard]] bool may_await(std::uint32_t number, std::uint32_t before) const;
  [[nodiscard]] Ns end_of(std::uint32_t node) const {
    return node == no_node ? Ns::min() : draft_.end_of(node);
  }
  [[nodiscard]] Ns ready(std::uint32_t number) const {
    return std::max(end_of(held_[number].launch), end_of(held_[number].other));
  }
  [[nodiscard]] std::int32_t step_of(SliceId op) const {
    return launching_step(input_.view, op, launches_recorded_);
  }
  [[nodiscard]] bool is_communication(std::uint32_t number) const {
    return call_row_[number] != no_row || trace_.is_communication(ops_[number]);
  }
  [[nodiscard]] Ns end(SliceId id) const { return trace_.slices.end(id); }
  [[nodiscard]] Ns start(SliceId id) const { return trace_.slices.start[index(id)]; }

  const ViewInput& input_;
  const Trace& trace_;
  const RankIndex& index_;
  Ns from_;
  Ns until_;
  EventWaits events_;
  ViewDraft draft_;

  // Operations of all devices that start in the steps, by start. The next columns are parallel.
  std::vector<SliceId> ops_;
  std::vector<std::uint32_t> call_row_;  // row of calls, or no_row
  std::vector<StreamPlace> places_;
  std::vector<std::uint64_t> launch_order_;  // launch_order()
  std::vector<std::uint32_t> op_first_;      // the node that waits for earlier work
  std::vector<std::uint32_t> op_last_;       // the node that ends with it
  std::vector<Held> held_;

  // By slice: 1 launches, 2 synchronises, 4 waits for the queue, 8 has launched.
  std::vector<std::uint8_t> mark_;
  std::vector<Point> points_;             // by instant
  std::vector<Hole> holes_;               // by thread
  std::vector<std::uint32_t> host_node_;  // by slice, of the call's `host` node
  std::vector<std::uint32_t> number_of_;  // by slice, of a device operation: index into ops_
  std::vector<std::uint32_t> last_of_track_;
  bool launches_recorded_ = false;  // of most operations
  Ns least_latency_{};
  Ns usual_call_{};  // that launches and does not wait
  Ns clock_lead_{};  // of the device before the host
  struct Launched {
    std::uint64_t at = 0;  // launch_order_
    std::uint32_t op = 0;  // index into ops_
  };
  std::vector<Launched> launched_;                            // compute and copies, by launch
  std::vector<EndedOperation> ended_;                         // by end
  std::unordered_map<std::uint32_t, std::uint32_t> copy_of_;  // by slice of a call that waits
  std::vector<Sync> syncs_;
  std::vector<Sync> full_queues_;
  std::vector<std::uint32_t> by_launch_;  // uses() in ops_, then in syncs_
  std::vector<DeviceIdle> idle_;          // by device
  std::vector<std::uint32_t> device_of_;  // by track
};

}  // namespace stepscope
