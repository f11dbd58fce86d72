// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/gradient_traffic.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "stepscope/analysis/collectives/ddp_buckets.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

constexpr std::int64_t least_share = 1000;  // of the largest message of a pass

bool may_carry_gradients(CollectiveKind kind, Dimension dimension) {
  const bool sums = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
  return sums && dimension != Dimension::tp && dimension != Dimension::sp &&
         dimension != Dimension::cp && dimension != Dimension::pp;
}

struct CallNodes {
  std::uint32_t arrival = no_node;
  std::uint32_t transfer = no_node;
};

// One message on its way into a pass.
struct Found {
  CollectiveKind kind = CollectiveKind::unknown;
  std::uint32_t group = no_row;
  std::uint32_t step = 0;  // row of the first member's view
  std::uint32_t call = 0;  // of the first member
  GradientMessage message;

  [[nodiscard]] const GradientMember& first() const { return message.members.front(); }
};

class TrafficFinder {
 public:
  explicit TrafficFinder(const WhatIfInputs& inputs)
      : in_(inputs), graph_(*inputs.replay.graph), nodes_(inputs.views.size()) {}

  GradientTraffic find();

 private:
  void find_nodes();
  void find_compute();
  [[nodiscard]] Ns launched(std::uint32_t view, const CollectiveCall& call) const;
  [[nodiscard]] bool carries_gradients(CollectiveMember member) const;
  [[nodiscard]] std::uint32_t accumulates_between(const Found& found, Ns from) const;
  [[nodiscard]] Ns backward_begin(const Found& found) const;
  [[nodiscard]] bool may_carry(const MatchedCollective& matched) const;
  void add(const MatchedCollective& matched);
  void close(std::vector<Found>& pass);
  [[nodiscard]] bool forward_between(const Found& a, const Found& b) const;
  [[nodiscard]] std::span<const ComputePiece> launched_in(std::uint32_t view, Ns from,
                                                          Ns until) const;

  const WhatIfInputs& in_;
  const StepGraph& graph_;
  std::vector<std::vector<CallNodes>> nodes_;  // by view and call
  std::vector<AccumulateRows> accumulates_;    // by view
  std::map<std::tuple<CollectiveKind, std::uint32_t>, std::vector<Found>> found_;
  GradientTraffic out_;
};

void TrafficFinder::find_nodes() {
  for (std::size_t v = 0; v < nodes_.size(); ++v)
    nodes_[v].resize(in_.collectives.matches.ranks[v].calls.size());
  for (std::uint32_t n = 0; n < graph_.size(); ++n) {
    if (graph_.kind[n] == NodeKind::arrival)
      nodes_[graph_.view[n]][graph_.detail[n]].arrival = n;
    else if (graph_.kind[n] == NodeKind::transfer)
      nodes_[graph_.view[n]][graph_.detail[n]].transfer = n;
  }
}

bool TrafficFinder::may_carry(const MatchedCollective& m) const {
  return !m.message && m.group != no_row &&
         may_carry_gradients(m.kind, in_.collectives.dimension_of[m.group]);
}

void TrafficFinder::find_compute() {
  for (std::uint32_t n = 0; n < graph_.size(); ++n) {
    if (graph_.kind[n] != NodeKind::compute || graph_.slice[n] == no_slice) continue;
    const std::uint32_t v = graph_.view[n];
    const RankView& view = in_.views[v];
    const bool device = !view.index->cpu_only();
    const SliceId row = device ? view.index->launch(graph_.slice[n]) : graph_.slice[n];
    if (row == no_slice) continue;
    const Slices& s = view.trace->slices;
    const Ns at = device ? s.start[index(row)] : in_.replay.start(n) + graph_.origin;
    out_.compute[v].push_back({at, n, in_.phases[v].at(s.track[index(row)], at)});
  }
  for (auto& pieces : out_.compute)
    run_sort(pieces,
             [](const ComputePiece& a, const ComputePiece& b) { return a.launched < b.launched; });
}

std::span<const ComputePiece> TrafficFinder::launched_in(std::uint32_t view, Ns from,
                                                         Ns until) const {
  const auto& pieces = out_.compute[view];
  const auto first = std::ranges::lower_bound(pieces, from, {}, &ComputePiece::launched);
  const auto last = std::ranges::lower_bound(pieces, until, {}, &ComputePiece::launched);
  return first < last ? std::span(first, last) : std::span<const ComputePiece>{};
}

Ns TrafficFinder::launched(std::uint32_t view, const CollectiveCall& call) const {
  const bool device = !in_.views[view].index->cpu_only() && call.launch != no_slice;
  return device ? in_.views[view].trace->slices.start[index(call.launch)] : call.start;
}

bool TrafficFinder::carries_gradients(CollectiveMember m) const {
  const CollectiveCall& call = in_.collectives.matches.call(m);
  if (!call.bytes || call.bytes->value <= 0 || !call.step) return false;
  if (in_.collectives.of_activations.contains({call.kind, call.group, call.bytes->value}))
    return false;
  if (accumulates_[m.view].contain(call.launch)) return true;
  const auto before = launched_in(m.view, Ns::min(), launched(m.view, call));
  return !before.empty() &&
         (before.back().phase == Phase::backward || before.back().phase == Phase::recompute);
}

void TrafficFinder::add(const MatchedCollective& matched) {
  const auto members = in_.collectives.matches.members_of(matched);
  if (!may_carry(matched) || !carries_gradients(members.front())) return;
  Found found{.kind = matched.kind, .group = matched.group, .message = {}};
  for (const CollectiveMember m : members) {
    const CollectiveCall& call = in_.collectives.matches.call(m);
    const CallNodes nodes = nodes_[m.view][m.call];
    if (!matched.complete || nodes.transfer == no_node || !call.step) {
      ++out_.unjoined;
      return;
    }
    found.message.bytes = std::max(found.message.bytes, call.bytes.value_or(Bytes{}));
    found.message.members.push_back({m.view, nodes.arrival, nodes.transfer, launched(m.view, call),
                                     accumulates_[m.view].contain(call.launch)});
  }
  found.step = *in_.collectives.matches.call(members.front()).step;
  found.call = members.front().call;
  found_[{found.kind, found.group}].push_back(std::move(found));
}

bool TrafficFinder::forward_between(const Found& a, const Found& b) const {
  return std::ranges::any_of(
      launched_in(a.first().view, a.first().launched, b.first().launched),
      [](const ComputePiece& piece) { return piece.phase == Phase::forward; });
}

// Start of the backward work before a message: after the previous other work, or in the previous
// step.
Ns TrafficFinder::backward_begin(const Found& found) const {
  const std::uint32_t view = found.first().view;
  const auto pieces =
      launched_in(view, in_.views[view].steps[found.step].host_start, found.first().launched);
  Ns begin = found.first().launched;
  for (auto at = pieces.size(); at-- > 0;) {
    if (pieces[at].phase != Phase::backward && pieces[at].phase != Phase::recompute) break;
    begin = pieces[at].launched;
  }
  return begin;
}

// Number of rows on the launching thread that begin in [from, launch]; nested rows count once.
std::uint32_t TrafficFinder::accumulates_between(const Found& found, Ns from) const {
  const std::uint32_t v = found.first().view;
  const CollectiveCall& call = in_.collectives.matches.ranks[v].calls[found.call];
  if (call.launch == no_slice) return 0;
  const Slices& s = in_.views[v].trace->slices;
  const Track& track = in_.views[v].trace->track(s.track[index(call.launch)]);
  std::uint32_t count = 0;
  Ns inner = Ns::max();  // start of the last counted row
  for (std::uint32_t i = index(call.launch) + 1; i-- > track.first && s.start[i] >= from;) {
    if (!accumulates_[v].named(s.name[i])) continue;
    if (s.end(SliceId{i}) <= inner || inner == Ns::max()) ++count;
    inner = s.start[i];
  }
  return count;
}

void TrafficFinder::close(std::vector<Found>& found) {
  if (found.empty()) return;
  std::int64_t largest = 0;
  for (const Found& f : found) largest = std::max(largest, f.message.bytes.value);
  std::erase_if(found,
                [&](const Found& f) { return f.message.bytes.value * least_share < largest; });
  GradientPass pass{.kind = found.front().kind, .group = found.front().group, .messages = {}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Ns from = i == 0 ? backward_begin(found[i]) : found[i - 1].first().launched + Ns{1};
    found[i].message.gradual = accumulates_between(found[i], from) > 1;
    if (i > 0) {
      const bool together = launched_in(found[i].first().view, found[i - 1].first().launched,
                                        found[i].first().launched)
                                .empty();
      found[i].message.handed_over = found[i - 1].message.handed_over + (together ? 0 : 1);
    }
  }
  for (Found& f : found) pass.messages.push_back(std::move(f.message));
  out_.passes.push_back(std::move(pass));
  found.clear();
}

GradientTraffic TrafficFinder::find() {
  if (in_.phases.size() != in_.views.size()) return {};
  out_.compute.resize(in_.views.size());
  const auto& all_matched = in_.collectives.matches.matched;
  if (std::ranges::none_of(all_matched, [&](const auto& m) { return may_carry(m); }))
    return std::move(out_);
  find_nodes();
  find_compute();
  for (const RankView& view : in_.views) accumulates_.emplace_back(*view.trace);
  for (const MatchedCollective& matched : all_matched) add(matched);
  for (auto& [key, all] : found_) {
    std::ranges::stable_sort(
        all, {}, [](const Found& f) { return std::pair(f.first().view, f.first().launched); });
    std::vector<Found> pass;
    for (Found& f : all) {
      if (!pass.empty() &&
          (pass.back().step != f.step || pass.back().first().view != f.first().view ||
           forward_between(pass.back(), f)))
        close(pass);
      pass.push_back(std::move(f));
    }
    close(pass);
  }
  return std::move(out_);
}

}  // namespace

Bytes GradientPass::bytes() const {
  Bytes sum{};
  for (const GradientMessage& m : messages) sum += m.bytes;
  return sum;
}

GradientTraffic find_gradient_traffic(const WhatIfInputs& inputs) {
  return TrafficFinder(inputs).find();
}

}  // namespace stepscope
