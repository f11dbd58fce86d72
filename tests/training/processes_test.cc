// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes give the same bits as ranks that are threads, at every stage. This is
// the core of the stage matrix; stage_matrix runs all of it.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "stepscope/base/scratch_test_folder.h"
#include "tests/training/matrix_processes.h"

namespace stepscope::matrix {
namespace {

Tally compare_core(std::size_t training, int ranks, std::uint64_t delays) {
  const test::Folder folder;
  auto tally = compare_processes(
      {.training = training, .delays = delays, .file = folder.file("outcome")}, ranks);
  if (!tally) {
    ADD_FAILURE() << tally.error().message();
    return {};
  }
  EXPECT_EQ(tally->faults, std::vector<std::string>{});
  return *std::move(tally);
}

void say(const char* what, const Tally& tally) {
  std::printf("%s: %d configurations, %lld differences, %d clipped steps\n", what,
              tally.configurations, static_cast<long long>(tally.differences), tally.clipped);
}

TEST(TrainingProcesses, ComeToTheBitsOfThreadsAtEveryStage) {
  Tally tally;
  for (const int ranks : {2, 3}) {
    for (std::size_t t = 0; t < trainings(Extent::core).size(); ++t) {
      tally += compare_core(t, ranks, 0);
    }
  }
  say("shm", tally);
  EXPECT_EQ(tally.configurations, 2 * 4 * 20);
  EXPECT_GT(tally.clipped, 0);
}

TEST(TrainingProcesses, ComeToThemWithRandomDelaysInEveryCallAndKernel) {
  Tally tally;
  for (const std::uint64_t seed : {1U, 2U}) tally += compare_core(2, 2, seed);
  say("shm with random delays", tally);
  EXPECT_EQ(tally.configurations, 2 * 20);
}

// Without this the comparison would be meaningless: another training gives other bits.
TEST(TrainingProcesses, OtherTrainingsComeToOtherBits) {
  const auto all = trainings(Extent::full);
  for (std::size_t t = 0; t + 1 < all.size(); t += 2) {
    EXPECT_GT(differences(reference(all[t], 2), reference(all[t + 1], 2)), 0) << text_of(all[t]);
  }
}

}  // namespace
}  // namespace stepscope::matrix
