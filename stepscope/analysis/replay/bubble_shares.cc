// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/bubble_shares.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "stepscope/analysis/replay/stage_balance.h"

namespace stepscope {
namespace {

// The first and last nodes of one rank's passes of one step.
struct Bounds {
  std::uint32_t first = no_node;
  std::uint32_t last = no_node;
};

class Shares {
 public:
  Shares(const PipelineBubble& pipeline, const WhatIfInputs& inputs)
      : pipeline_(pipeline), in_(inputs), graph_(*inputs.replay.graph) {}

  std::vector<BubbleShares> find();

 private:
  using Key = std::pair<std::uint32_t, std::int64_t>;  // pipeline, Step::index

  void find_nodes();
  // Work is by node.
  [[nodiscard]] std::vector<Ns> without_messages(std::vector<Ns> work) const;
  [[nodiscard]] std::map<Key, Ns> walls(std::span<const Ns> work);
  [[nodiscard]] Ns less_work(std::size_t rank, std::span<const Ns> balanced, Ns from, Ns to) const;

  const PipelineBubble& pipeline_;
  const WhatIfInputs& in_;
  const StepGraph& graph_;
  std::vector<std::vector<std::uint32_t>> computes_;  // parallel to ranks: nodes by start
  std::vector<std::vector<Bounds>> bounds_;           // parallel to ranks and their steps
  std::vector<Ns> end_;
};

void Shares::find_nodes() {
  std::vector<std::vector<std::uint32_t>> of_view(in_.views.size());
  for (std::uint32_t n = 0; n < graph_.size(); ++n)
    if (graph_.kind[n] == NodeKind::compute) of_view[graph_.view[n]].push_back(n);
  const auto start = [&](std::uint32_t n) { return in_.replay.start(n) + graph_.origin; };
  const auto end = [&](std::uint32_t n) { return in_.replay.end[n] + graph_.origin; };
  for (const StageBubble& rank : pipeline_.ranks) {
    auto& nodes = computes_.emplace_back(of_view[rank.view]);
    std::ranges::stable_sort(nodes, {}, start);
    auto& bounds = bounds_.emplace_back(rank.steps.size());
    for (std::size_t s = 0; s < rank.steps.size(); ++s) {
      const auto from = std::ranges::lower_bound(nodes, rank.steps[s].first_forward, {}, start);
      for (auto n = from; n != nodes.end() && start(*n) < rank.steps[s].last_backward; ++n) {
        // A node without duration is not part of a pass.
        if (end(*n) > rank.steps[s].last_backward || end(*n) == start(*n)) continue;
        if (bounds[s].first == no_node) bounds[s].first = *n;
        if (bounds[s].last == no_node || end(*n) > end(bounds[s].last)) bounds[s].last = *n;
      }
    }
  }
}

std::vector<Ns> Shares::without_messages(std::vector<Ns> work) const {
  for (std::uint32_t n = 0; n < graph_.size(); ++n) {
    if (graph_.kind[n] != NodeKind::transfer || !in_.replay.movable[n]) continue;
    const CollectiveCall& call =
        in_.collectives.matches.ranks[graph_.view[n]].calls[graph_.detail[n]];
    if (is_stage_message(call, in_.collectives.dimension_of)) work[n] = graph_.graph.delay(n);
  }
  return work;
}

// The duration of each pipeline's steps in a replay.
std::map<Shares::Key, Ns> Shares::walls(std::span<const Ns> work) {
  end_.resize(graph_.size());
  replay(graph_.graph, work, {}, end_);
  std::map<Key, std::pair<Ns, Ns>> spans;
  for (std::size_t r = 0; r < pipeline_.ranks.size(); ++r) {
    const StageBubble& rank = pipeline_.ranks[r];
    for (std::size_t s = 0; s < rank.steps.size(); ++s) {
      const auto [first, last] = bounds_[r][s];
      if (first == no_node) continue;
      const Ns start = end_[first] - (work[first] - graph_.graph.delay(first));
      auto& span =
          spans.try_emplace({rank.pipeline, rank.steps[s].index}, start, end_[last]).first->second;
      span = {std::min(span.first, start), std::max(span.second, end_[last])};
    }
  }
  std::map<Key, Ns> walls;
  for (const auto& [key, span] : spans) walls[key] = span.second - span.first;
  return walls;
}

// The reduction by balancing of a rank's compute that begins in [from, to).
Ns Shares::less_work(std::size_t rank, std::span<const Ns> balanced, Ns from, Ns to) const {
  const auto start = [&](std::uint32_t n) { return in_.replay.start(n) + graph_.origin; };
  const std::vector<std::uint32_t>& nodes = computes_[rank];
  Ns less{};
  for (auto n = std::ranges::lower_bound(nodes, from, {}, start);
       n != nodes.end() && start(*n) < to; ++n)
    less += in_.replay.measured.work[*n] - balanced[*n];
  return less;
}

std::vector<BubbleShares> Shares::find() {
  find_nodes();
  std::vector<Ns> balanced = graph_.graph.work;
  const auto measured = walls(balanced);
  const auto linkless = walls(without_messages(balanced));
  const auto shares = stage_shares(in_);
  for (const std::uint32_t n : in_.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)]) {
    const auto stage = shares.find(stage_of(in_.roles[graph_.view[n]]));
    if (stage == shares.end() || stage->second <= 0) continue;
    const Ns time = in_.replay.measured.duration[n];
    balanced[n] += Ns{std::llround(static_cast<double>(time.count()) / stage->second)} - time;
  }
  const auto even = walls(without_messages(balanced));
  std::vector<BubbleShares> all;
  for (std::size_t r = 0; r < pipeline_.ranks.size(); ++r) {
    const StageBubble& rank = pipeline_.ranks[r];
    BubbleShares& share = all.emplace_back();
    Ns links{};
    Ns imbalance{};
    Ns passes = rank.total.passes;
    for (const StageStep& s : rank.steps) {
      const Key key{rank.pipeline, s.index};
      passes -= less_work(r, balanced, s.first_forward, s.last_backward);
      imbalance -= less_work(r, balanced, s.begin, s.end);
      if (!measured.contains(key)) continue;
      links += measured.at(key) - linkless.at(key);
      imbalance += linkless.at(key) - even.at(key);
    }
    if (pipeline_.passes)
      share.schedule = bubble_by_schedule(pipeline_.stages, *pipeline_.passes, passes);
    share.links = links;
    share.imbalance = imbalance;
    share.rest =
        rank.total.bubble() - share.schedule.value_or(Ns{0}) - *share.links - *share.imbalance;
  }
  return all;
}

}  // namespace

Ns BubbleShares::sum() const {
  return schedule.value_or(Ns{0}) + imbalance.value_or(Ns{0}) + links.value_or(Ns{0}) + rest;
}

std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline) {
  std::vector<BubbleShares> all;
  for (const StageBubble& rank : pipeline.ranks) {
    BubbleShares& share = all.emplace_back();
    share.schedule = pipeline.by_schedule(rank);
    share.rest = rank.total.bubble() - share.schedule.value_or(Ns{0});
  }
  return all;
}

std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline,
                                        const WhatIfInputs& inputs) {
  if (!pipeline.missing.empty() || !inputs.collectives.matches.clocks_comparable)
    return bubble_shares(pipeline);
  return Shares(pipeline, inputs).find();
}

}  // namespace stepscope
