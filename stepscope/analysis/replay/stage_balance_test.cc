// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/stage_balance.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

constexpr int batches_of_step = 2;
constexpr int recorded_steps = 2;

// A rank that runs `layers` layers of four kernels for each micro-batch. The last stage also runs
// the head, which has the name of a layer's kernel. One optimizer kernel updates all layers.
// `small`: names of short kernels that a batch has once more than layers.
TestRank stage_of_layers(int layers, bool last, int small) {
  TestRank rank;
  std::int64_t at = 1000;
  std::uint32_t id = 0;
  const auto kernel = [&](std::string_view name, std::int64_t time) {
    rank.rows().launch(++id, at - 2, at - 1);
    rank.rows().kernel(name, at, at + time, id);
    at += time + 10;
  };
  for (int s = 0; s < recorded_steps; ++s) {
    const std::int64_t begin = at - 5;
    for (int b = 0; b < batches_of_step; ++b) {
      for (int k = 0; k < layers; ++k) {
        kernel("norm", 20);
        kernel("attention", 200);
        kernel("gemm", 300);
        kernel("gemm", 300);
      }
      if (last) kernel("gemm", 100);
      for (int name = 0; name < small; ++name)
        for (int k = 0; k <= layers; ++k) kernel("fill" + std::to_string(name), 1);
    }
    kernel("adam", 50 * layers);
    rank.rows().step("ProfilerStep#" + std::to_string(s), begin, at);
    at += 10;
  }
  return rank;
}

std::map<std::string_view, StageRatio> ratios_of(std::span<const int> layers,
                                                 std::optional<int> micro_batches, int small = 0) {
  std::vector<TestRank> ranks;
  static std::vector<std::string> roles;
  roles.clear();
  for (std::size_t s = 0; s < layers.size(); ++s) {
    ranks.push_back(stage_of_layers(layers[s], s + 1 == layers.size(), small));
    roles.push_back("pp" + std::to_string(s));
  }
  const TestJob job(std::move(ranks));
  const Collectives collectives = analyze_collectives(job.views());
  const StepGraph graph = build_step_graph(job.views(), collectives);
  const Replay replay = make_replay(graph, job.views());
  const PeerMedians medians = peer_medians(replay, job.views(), roles);
  WhatIfInputs in{replay, job.views(), collectives, roles, medians};
  in.micro_batches = micro_batches;
  std::map<std::string_view, StageRatio> ratios;
  for (auto& [stage, ratio] : stage_ratios(in)) {  // names outlive the job as literals
    StageRatio kept = ratio;
    kept.names.clear();
    for (const std::string_view name : {"attention", "gemm", "adam"})
      kept.names[name] = ratio.of(name);
    ratios[roles[static_cast<std::size_t>(stage.back() - '0')]] = kept;
  }
  return ratios;
}

TEST(StageBalance, LayersMoveAndTheHeadStays) {
  const auto ratios = ratios_of(std::array{2, 4, 3, 3}, batches_of_step);
  EXPECT_TRUE(ratios.at("pp1").movable);
  EXPECT_DOUBLE_EQ(ratios.at("pp1").of("attention"), 4.0 / 3);
  EXPECT_DOUBLE_EQ(ratios.at("pp1").of("gemm"), 4.0 / 3);
  EXPECT_DOUBLE_EQ(ratios.at("pp1").of("adam"), 4.0 / 3);
  EXPECT_DOUBLE_EQ(ratios.at("pp1").collectives, 4.0 / 3);
  EXPECT_DOUBLE_EQ(ratios.at("pp1").work, 4.0 / 3);
  EXPECT_DOUBLE_EQ(ratios.at("pp0").of("gemm"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(ratios.at("pp3").of("gemm"), 1);
  EXPECT_DOUBLE_EQ(ratios.at("pp3").work, 1);
}

TEST(StageBalance, KernelsThatTakeNextToNoTimeDoNotTellLayers) {
  const auto ratios = ratios_of(std::array{2, 4, 3, 3}, batches_of_step, 5);
  EXPECT_TRUE(ratios.at("pp1").movable);
  EXPECT_DOUBLE_EQ(ratios.at("pp1").of("attention"), 4.0 / 3);
  EXPECT_DOUBLE_EQ(ratios.at("pp0").of("attention"), 2.0 / 3);
}

// Two and four layers have the counts of one and two: the micro-batches show it.
TEST(StageBalance, MicroBatchesTellWhatALayerIs) {
  EXPECT_TRUE(ratios_of(std::array{2, 4}, batches_of_step).at("pp1").movable);
  EXPECT_FALSE(ratios_of(std::array{1, 2}, batches_of_step).at("pp1").movable);
  EXPECT_FALSE(ratios_of(std::array{2, 4}, std::nullopt).at("pp1").movable);
}

TEST(StageBalance, TheHeadOfTheLastStageIsNoLayer) {
  const auto ratios = ratios_of(std::array{3, 1}, batches_of_step);
  EXPECT_TRUE(ratios.at("pp0").movable);
  EXPECT_DOUBLE_EQ(ratios.at("pp0").of("gemm"), 3.0 / 2);
  // 600 ns of a layer and the head of 100, then 1200 and 100, for each micro-batch.
  EXPECT_DOUBLE_EQ(ratios.at("pp1").of("gemm"), 700.0 / 1300);
}

TEST(StageBalance, ALayerTooManyThatCannotBeSharedStays) {
  EXPECT_FALSE(ratios_of(std::array{3, 3, 3, 4}, batches_of_step).at("pp3").movable);
}

}  // namespace
}  // namespace stepscope
