// SPDX-License-Identifier: Apache-2.0
// The graph of a job written by hand, its replay, and what the replay answers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/graph/step_graph.h"
#include "stepscope/analysis/replay/explanation.h"
#include "stepscope/analysis/runs/job_test_builder.h"
#include "stepscope/analysis/steps/counted_steps.h"

namespace stepscope {

template <class... Rank>
std::vector<TestRank> graph_ranks_of(Rank... rank) {
  std::vector<TestRank> ranks;
  (ranks.push_back(std::move(rank)), ...);
  return ranks;
}

struct BuiltGraph {
  TestJob job;
  Collectives collectives;
  StepGraph graph;
  Replay replay;

  explicit BuiltGraph(std::vector<TestRank> ranks) : job(std::move(ranks)) {
    collectives = analyze_collectives(job.views());
    graph = build_step_graph(job.views(), collectives);
    replay = make_replay(graph, job.views());
  }
  [[nodiscard]] std::vector<std::uint32_t> nodes(NodeKind kind) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t n = 0; n < graph.size(); ++n)
      if (graph.kind[n] == kind) found.push_back(n);
    return found;
  }
  [[nodiscard]] WhatIf ask(const Scenario& scenario) const {
    const std::vector<std::string> roles(job.views().size(), "all");
    const PeerMedians medians = peer_medians(replay, job.views(), roles);
    const std::vector<Scenario> one = {scenario};
    return what_if({replay, job.views(), collectives, roles, medians}, one, 1).front();
  }
  [[nodiscard]] double saves(std::string_view change) const {
    const WhatIf answer = ask(*parse_scenario(change));
    return static_cast<double>(answer.saved.count()) / static_cast<double>(replay.step.count());
  }
  [[nodiscard]] CriticalPath path() const {
    std::vector<HostPhases> phases;
    for (const RankView& view : job.views())
      phases.push_back(host_phases(*view.trace, *view.index, view.steps));
    return find_critical_path(replay, job.views(),
                              count_steps(job.views(), graph.clocks_comparable).of_view,
                              collectives.matches, phases);
  }
  // The share of the critical path.
  [[nodiscard]] double labelled(std::string_view label) const {
    const CriticalPath found = path();
    Ns time{};
    for (const PathShare& share : found.shares)
      if (share.label == label) time += share.time;
    return static_cast<double>(time.count()) / static_cast<double>(found.length.count());
  }
};

}  // namespace stepscope
