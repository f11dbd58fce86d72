// SPDX-License-Identifier: Apache-2.0
// A job written by hand with its graph and replay, for tests of questions to the replay.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {

struct ReplayedTestJob {
  TestJob job;
  Collectives collectives;
  StepGraph graph;
  Replay replay;
  std::vector<std::string> roles;  // one for all ranks
  PeerMedians medians;
  std::vector<HostPhases> phases;

  explicit ReplayedTestJob(std::vector<TestRank> ranks)
      : job(std::move(ranks)), roles(job.views().size()) {
    collectives = analyze_collectives(job.views());
    graph = build_step_graph(job.views(), collectives);
    replay = make_replay(graph, job.views());
    EXPECT_EQ(replay.error, 0);
    medians = peer_medians(replay, job.views(), roles);
    for (const RankView& v : job.views())
      phases.push_back(host_phases(*v.trace, *v.index, v.steps));
  }
  // The replay refers to the graph.
  ReplayedTestJob(const ReplayedTestJob&) = delete;
  ReplayedTestJob& operator=(const ReplayedTestJob&) = delete;

  [[nodiscard]] WhatIfInputs inputs() const {
    return {replay, job.views(), collectives, roles, medians, phases};
  }
};

}  // namespace stepscope
