// SPDX-License-Identifier: Apache-2.0
// bench/live_faults with few jobs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>

#include "followed_job.h"

namespace stepscope {
namespace {

std::string folder() {
  return (std::filesystem::temp_directory_path() /
          ("live_faults_test_" + std::to_string(::getpid())))
      .string();
}

TEST(LiveFaults, ASlowRankIsNamedWithinTenSteps) {
  constexpr int jobs = 24;
  int named = 0, others = 0;
  for (int job = 0; job < jobs; ++job) {
    std::mt19937_64 random(static_cast<std::uint64_t>(job) + 70'000);
    const WrittenJobSetting s = drawn_fault(random);
    const FollowedJob found = follow_job(s, random(), s.slow_from + 11, folder());
    named += found.right >= 0 && found.right <= 10 ? 1 : 0;
    others += found.wrong;
  }
  EXPECT_GE(named, jobs - 1);
  EXPECT_EQ(others, 0);
}

TEST(LiveFaults, NobodyIsNamedInACleanJob) {
  for (int job = 0; job < 8; ++job) {
    std::mt19937_64 random(static_cast<std::uint64_t>(job) + 80'000);
    const WrittenJobSetting s = drawn_setting(random);
    const FollowedJob found = follow_job(s, random(), 1000, folder());
    EXPECT_EQ(found.wrong, 0) << job;
    EXPECT_EQ(found.wrong_links, 0) << job;
  }
}

// Clocks of hosts are set while the job runs: forwards and backwards, by a second and by an hour.
TEST(LiveFaults, ClocksThatAreSetChangeNothing) {
  for (const bool files_of_steps : {false, true})
    for (const bool verbose : {false, true})
      for (const double jump : {3600.0, 1.0, -1.0, -3600.0}) {
        WrittenJobSetting s{.data = 4,
                            .files_of_steps = files_of_steps,
                            .verbose = verbose,
                            .jump_at = 200,
                            .jump_s = jump};
        const FollowedJob clean = follow_job(s, 3, 500, folder());
        EXPECT_EQ(clean.wrong, 0) << jump;
        EXPECT_EQ(clean.changes, 0) << jump << (verbose ? " verbose" : "");
        EXPECT_NEAR(clean.step_s, 0.22, 0.03) << jump << (verbose ? " verbose" : "");
        s.fault = WrittenFault::compute;
        s.slow_rank = 2;
        s.slow_from = 260;
        s.slow = 0.3;
        const FollowedJob slow = follow_job(s, 3, 271, folder());
        EXPECT_GT(slow.right, 0) << jump << (verbose ? " verbose" : "");
        EXPECT_EQ(slow.wrong, 0) << jump;
      }
}

TEST(LiveFaults, ASlowLinkIsNoRanksFault) {
  for (const int tensor : {1, 2}) {
    const WrittenJobSetting s{.tensor = tensor,
                              .data = 4,
                              .verbose = true,
                              .fault = WrittenFault::link,
                              .slow_rank = 3,
                              .slow_from = 100,
                              .slow = 0.4};
    const FollowedJob found = follow_job(s, 5, 200, folder());
    EXPECT_EQ(found.wrong, 0) << tensor;
    EXPECT_EQ(found.wrong_links, 0) << tensor;
    EXPECT_GT(found.changes, 0) << tensor;
    EXPECT_GT(found.link, 0) << tensor;
    EXPECT_LE(found.link, 10) << tensor;
  }
}

}  // namespace
}  // namespace stepscope
