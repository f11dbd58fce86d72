// SPDX-License-Identifier: Apache-2.0
// The communication of one rank: every collective, send and receive that it ran, with the facts the
// trace has about each. On a device a call is a communication kernel. Its metadata come from the
// kernel, else from the operator or annotation that launched it, else from its name alone. Without
// a device a call is the backend's row ("gloo:all_reduce"), else the operator's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/matching/process_group.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/plain_bytes.h"
#include "stepscope/event/clock_correction.h"

namespace stepscope {

// For crews: the names of element types, a few in all. The names of another process live as long as
// this one, as the program's own do.
template <>
struct Plain<std::string_view> {
  static void append(std::string& out, const std::string_view& name);
  static bool take(std::string_view& in, std::string_view& name);
};

struct CollectiveCall {
  SliceId slice = no_slice;   // the kernel; the host row if there is no device
  SliceId host = no_slice;    // the innermost communication row around its launch, or no_slice
  SliceId launch = no_slice;  // the kernel's runtime call; the operator without a device
  Ns start{};                 // of the row; of a message on a host, when its operator began
  Ns end{};  // of the row; of a message, before that if it had come (message_end.h)
  CollectiveKind kind = CollectiveKind::unknown;
  bool kind_by_name = false;    // only the kernel's name gives `kind`
  bool on_host = false;         // a row of a host thread
  std::string_view dtype;       // c10's name; empty = not recorded; view into the trace or static
  std::optional<Bytes> bytes;   // S, the total buffer of the call
  bool bytes_by_range = false;  // only the name of the range around it gives `bytes`
  std::int64_t elements = -1;   // must agree between ranks: of the input; of the output for gathers
  // Row of RankCalls::groups, and of CollectiveMatches::groups once matched; no_row = unknown.
  std::uint32_t group = no_row;
  TrackId stream{};              // where it ran; the kernels of one communicator share a stream
  std::int64_t seq = -1;         // number within its group, equal on all ranks; -1 = not recorded
  int root = -1;                 // global rank, of broadcast and reduce
  bool root_in_group = false;    // `root` is a rank within the group, which is not known yet
  std::uint32_t first_edge = 0;  // its messages are RankCalls::edges [first_edge, + edge_count)
  std::uint32_t edge_count = 0;
  std::optional<std::uint32_t> step;  // row of the view's steps in which the call starts
};

// One message between two ranks, as one of them recorded it. A peer that it did not record is -1;
// matched calls have no such edges (message_peers.h).
struct P2pEdge {
  int src = -1;  // global ranks; ranks within the group if its ranks are unknown
  int dst = -1;
  std::int64_t elements = -1;
  int tag = 0;             // messages between two ranks keep their order only within a tag
  bool by_number = false;  // the record has one number, which may be the peer's or the rank's own
  bool sends = false;      // of the rank that recorded it
  bool in_group = false;   // the peer is a rank within the call's group, which is not known yet

  // The field of the peer of the rank that recorded the edge.
  [[nodiscard]] int& peer() { return sends ? dst : src; }
  [[nodiscard]] int peer() const { return sends ? dst : src; }
};

// Calls that recorded another size than the name of the range around them has, and the first one.
struct OtherSizes {
  std::uint64_t calls = 0;
  std::string range{};
  Bytes recorded{};
};

struct RankCalls {
  std::vector<CollectiveCall> calls;  // by start
  std::vector<P2pEdge> edges;
  bool own_numbers = false;  // the number of a message's record cannot be its peer's
  OtherSizes other_sizes;
  // Used groups, and groups that the file lists with their ranks. Empty once matched.
  std::vector<CommGroup> groups;
  // The listed groups that have this rank, as rows like CollectiveCall::group. The groups of a file
  // are in its order, which is the order of their creation. The groups that the user gives have no
  // order.
  std::vector<std::uint32_t> listed;
  bool listed_in_order = true;

  [[nodiscard]] std::span<P2pEdge> edges_of(const CollectiveCall& call) {
    return std::span(edges).subspan(call.first_edge, call.edge_count);
  }
  [[nodiscard]] std::span<const P2pEdge> edges_of(const CollectiveCall& call) const {
    return std::span(edges).subspan(call.first_edge, call.edge_count);
  }
};

// Views whose windows overlap, and what is known of the job so far.
struct CapturedViews {
  std::vector<std::uint32_t> of;         // rows of `views`, ascending
  std::map<int, std::uint32_t> by_rank;  // rows of `views`; the last one if a rank has several
                                         // windows
  std::span<const RankView> views;       // of the job; the next two members are by view, too
  std::span<const ClockCorrection> clocks;
  std::span<RankCalls> ranks;
  std::span<const CommGroup> groups;  // of the job; CollectiveCall::group and listed are rows

  [[nodiscard]] bool has_all(const CommGroup& group) const {
    return std::ranges::all_of(group.ranks, [&](int rank) { return by_rank.contains(rank); });
  }
};

// O(slices) once, plus O(log slices) per call. Texts are views into view.trace.
[[nodiscard]] RankCalls find_collective_calls(const RankView& view);

// The device that ran a call; null: none.
[[nodiscard]] const DeviceLane* lane_of(const RankView& view, const CollectiveCall& call);

// Sets what a call without metadata has once its group is known: the bytes of a gather, and the
// ranks that are recorded as numbers within the group. In a group of two the peer is the other one.
void complete_by_group(int rank, const CommGroup& group, CollectiveCall& call,
                       std::span<P2pEdge> edges);

// Sorts rows of calls of one group, given by start, by launch if they are on several streams: ranks
// differ in which stream begins first, and launch alike. Calls of one stream begin in their order.
void sort_as_launched(const RankView& view, std::span<const CollectiveCall> calls,
                      std::vector<std::uint32_t>& rows);

}  // namespace stepscope
