// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/recorded_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace stepscope {
namespace {

// A delay shorter than this is part of the node's own time.
constexpr Ns shortest_delay = std::chrono::nanoseconds{500};

class Recorded {
 public:
  explicit Recorded(const WhatIfInputs& in)
      : in_(in), graph_(*in.replay.graph), last_(graph_.size()) {}

  JobProgram run() {
    rank_rows();
    group_rows();
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      if (graph_.kind[n] == NodeKind::join) meets_by_transfer(n);
    for (std::uint32_t n = 0; n < graph_.size(); ++n) add(n);
    for (const std::size_t steps : graph_.steps) program_.steps = std::max(program_.steps, steps);
    if (kernels_for_messages_ > 0)
      program_.notes.push_back(fmt::format(
          "{} collectives and messages, whose other ranks are not in the traces, are kernels of "
          "their recorded time",
          kernels_for_messages_));
    return std::move(program_);
  }

 private:
  void rank_rows() {
    std::vector<std::uint32_t> views;
    for (std::uint32_t v = 0; v < in_.views.size(); ++v) views.push_back(v);
    std::ranges::stable_sort(views, {}, [&](std::uint32_t v) { return in_.views[v].rank; });
    row_of_.resize(views.size());
    for (const std::uint32_t v : views) {
      const int rank = in_.views[v].rank;
      if (program_.ranks.empty() || program_.ranks.back().rank != rank)
        program_.ranks.push_back({.rank = rank, .nodes = {}});
      row_of_[v] = static_cast<std::uint32_t>(program_.ranks.size() - 1);
    }
  }
  // Only groups that joined collectives use, with the members that they have.
  void group_rows() {
    const CollectiveMatches& matches = in_.collectives.matches;
    group_row_.assign(matches.groups.size(), no_row);
    for (const std::uint32_t n : joins()) {
      const MatchedCollective& m = matches.matched[graph_.detail[n]];
      if (m.message || m.group == no_row || group_row_[m.group] != no_row) continue;
      ProgramGroup group{.name = matches.groups[m.group].name, .ranks = {}};
      for (const CollectiveMember x : matches.members_of(m)) group.ranks.push_back(row_of_[x.view]);
      std::ranges::sort(group.ranks);
      group_row_[m.group] = static_cast<std::uint32_t>(program_.groups.size());
      program_.groups.push_back(std::move(group));
    }
  }
  [[nodiscard]] std::vector<std::uint32_t> joins() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      if (graph_.kind[n] == NodeKind::join && graph_.detail[n] != no_row) found.push_back(n);
    return found;
  }
  // Remembers the meetings of each call, which its transfer makes.
  void meets_by_transfer(std::uint32_t join) {
    const std::uint32_t row = graph_.detail[join];
    if (row == no_row) return;
    for (const CollectiveMember m :
         in_.collectives.matches.members_of(in_.collectives.matches.matched[row])) {
      auto& rows = meetings_[{m.view, m.call}];
      if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
    }
  }

  [[nodiscard]] std::string name_of(std::uint32_t n) const {
    const SliceId slice = graph_.slice[n];
    if (slice == no_slice)
      return std::string(node_kind_names[static_cast<std::size_t>(graph_.kind[n])]);
    return std::string(in_.views[graph_.view[n]].trace->name(slice));
  }

  std::uint32_t put(std::uint32_t view, ProgramNode node) {
    auto& nodes = program_.ranks[row_of_[view]].nodes;
    std::ranges::sort(node.after);
    node.after.erase(std::ranges::unique(node.after).begin(), node.after.end());
    nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }

  void add(std::uint32_t n) {
    const NodeKind kind = graph_.kind[n];
    if (kind == NodeKind::join) return;
    const std::uint32_t view = graph_.view[n];
    std::vector<std::uint32_t> after;
    for (const std::uint32_t p : graph_.graph.preds_of(n))
      if (graph_.kind[p] != NodeKind::join && row_of_[graph_.view[p]] == row_of_[view])
        after.insert(after.end(), last_[p].begin(), last_[p].end());
    const Ns start = in_.replay.start(n);
    const Ns delay = std::max(Ns{0}, in_.replay.measured.delay(n));
    // What a transfer waits for after everyone has come is part of it.
    if (delay >= shortest_delay && kind != NodeKind::transfer)
      after = {put(view, {.work = ProgramWork::host,
                          .name = kind == NodeKind::launch ? "launch latency" : "not recorded",
                          .start = start - delay,
                          .duration = delay,
                          .after = std::move(after)})};
    if (kind == NodeKind::arrival) {
      last_[n] = std::move(after);
      return;
    }
    const Ns duration = std::max(Ns{0}, in_.replay.measured.duration[n]);
    ProgramNode node{.work = on_device(kind) ? ProgramWork::kernel : ProgramWork::host,
                     .name = name_of(n),
                     .start = start,
                     .duration = duration,
                     .after = std::move(after)};
    if (kind == NodeKind::comm) ++kernels_for_messages_;
    if (kind == NodeKind::transfer) {
      node.duration = transfer_time(n);
      add_meetings(n, std::move(node));
      return;
    }
    last_[n] = {put(view, std::move(node))};
  }
  static bool on_device(NodeKind kind) {
    return kind == NodeKind::compute || kind == NodeKind::copy || kind == NodeKind::comm ||
           kind == NodeKind::transfer;
  }

  [[nodiscard]] Ns transfer_time(std::uint32_t n) const {
    Ns late{};
    for (const std::uint32_t p : graph_.graph.preds_of(n))
      if (graph_.kind[p] == NodeKind::join) late = std::max(late, in_.replay.measured.delay(p));
    return std::max(Ns{0}, late + in_.replay.measured.delay(n) + in_.replay.measured.duration[n]);
  }

  // One node for each collective or message of the call.
  void add_meetings(std::uint32_t n, ProgramNode node) {
    const std::uint32_t view = graph_.view[n];
    const std::uint32_t row = graph_.detail[n];
    const auto found = meetings_.find({view, row});
    const CollectiveMatches& matches = in_.collectives.matches;
    const CollectiveCall& call = matches.ranks[view].calls[row];
    if (found == meetings_.end()) {
      last_[n] = {put(view, std::move(node))};
      return;
    }
    std::ranges::sort(found->second);
    std::map<std::uint32_t, std::size_t> seen;  // messages with each peer
    for (const std::uint32_t met : found->second) {
      const MatchedCollective& m = matches.matched[met];
      ProgramNode part = node;
      part.tag = met;
      part.kind = m.kind;
      part.bytes = call.bytes.value_or(Bytes{0});
      if (!m.message && (m.group == no_row || group_row_[m.group] == no_row)) {
        ++kernels_for_messages_;
      } else if (!m.message) {
        part.work = ProgramWork::collective;
        part.group = group_row_[m.group];
      } else {
        const auto peer = peer_of(m, view);
        const bool out =
            sends(matches.ranks[view], call, in_.views[view].rank, peer.rank, seen[peer.view]++);
        part.work = out ? ProgramWork::send : ProgramWork::receive;
        part.peer = row_of_[peer.view];
        if (call.edge_count > 1) part.bytes = Bytes{part.bytes.value / call.edge_count};
      }
      last_[n].push_back(put(view, std::move(part)));
    }
  }
  struct Peer {
    std::uint32_t view = 0;
    int rank = 0;
  };
  [[nodiscard]] Peer peer_of(const MatchedCollective& m, std::uint32_t view) const {
    for (const CollectiveMember x : in_.collectives.matches.members_of(m))
      if (x.view != view) return {x.view, in_.views[x.view].rank};
    return {view, in_.views[view].rank};
  }
  // Whether the rank sends the message between it and its peer. In a call with both ways the lower
  // rank sends the first message, the other rank the second.
  static bool sends(const RankCalls& calls, const CollectiveCall& call, int rank, int peer,
                    std::size_t before) {
    bool out = false;
    bool in = false;
    for (std::uint32_t e = call.first_edge; e < call.first_edge + call.edge_count; ++e) {
      const P2pEdge& edge = calls.edges[e];
      out |= edge.src == rank && edge.dst == peer;
      in |= edge.src == peer && edge.dst == rank;
    }
    if (out != in) return out;
    if (call.kind == CollectiveKind::send || call.kind == CollectiveKind::recv)
      return call.kind == CollectiveKind::send;
    return (rank < peer) == (before % 2 == 0);
  }

  const WhatIfInputs& in_;
  const StepGraph& graph_;
  JobProgram program_;
  std::vector<std::uint32_t> row_of_;     // by view
  std::vector<std::uint32_t> group_row_;  // by row of CollectiveMatches::groups
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> meetings_;
  std::vector<std::vector<std::uint32_t>> last_;  // by node: its nodes in the rank's program
  std::size_t kernels_for_messages_ = 0;
};

}  // namespace

JobProgram recorded_program(const WhatIfInputs& in) { return Recorded(in).run(); }

}  // namespace stepscope
