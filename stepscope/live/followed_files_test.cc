// SPDX-License-Identifier: Apache-2.0
// What happens to the files of running jobs: writers are killed within a line, jobs are restarted
// into the same files or others.
#include "stepscope/live/followed_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stepscope/base/scratch_test_folder.h"
#include "stepscope/live/job_state.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class FollowedFilesTest : public testing::Test {
 protected:
  [[nodiscard]] static std::string line(int rank, int step, int run, bool late = false) {
    const int wait = rank == 0 ? 20'000'000 + (late ? 30'000'000 : 0) : 20'000'000;
    return R"({"stepscope":"step","rank":)" + std::to_string(rank) +
           R"(,"world":2,"host":"h","pid":)" + std::to_string(100 * run + rank) + R"(,"run":)" +
           std::to_string(run) + R"(,"step":)" + std::to_string(step) + R"(,"wall_ns":)" +
           std::to_string(100'000'000 + (late ? 30'000'000 : 0)) + R"(,"wait_ns":)" +
           std::to_string(wait) + "}";
  }
  [[nodiscard]] fs::path path(int rank) const {
    return folder_ / ("steps-rank" + std::to_string(rank) + ".jsonl");
  }
  void write(int rank, const std::string& text, bool from_start = false) const {
    std::ofstream(path(rank), from_start ? std::ios::trunc : std::ios::app) << text;
  }
  void steps(int from, int to, int run, bool late = false) const {
    for (int step = from; step < to; ++step)
      for (int rank = 0; rank < 2; ++rank) write(rank, line(rank, step, run, late) + "\n");
  }
  void read() {
    now_ += 1;
    ASSERT_TRUE(files_.look());
    while (files_.poll(job_, now_, errors_)) {
    }
    job_.settle(now_);
    for (LiveEvent& e : job_.take_events()) events_.push_back(std::move(e));
  }
  [[nodiscard]] std::ptrdiff_t count(LiveEventKind kind) const {
    return std::ranges::count(events_, kind, &LiveEvent::kind);
  }

  const test::Folder scratch_;
  const fs::path folder_ = scratch_.path;
  FollowedFiles files_{{folder_.string()}, {}};
  JobState job_;
  double now_ = 0;
  std::vector<Error> errors_;
  std::vector<LiveEvent> events_;
};

TEST_F(FollowedFilesTest, AWriterThatIsKilledWithinALineLosesThatLineAlone) {
  steps(0, 20, 1);
  const std::string half = line(1, 20, 1);
  write(0, line(0, 20, 1) + "\n");
  write(1, half.substr(0, half.size() / 2));
  read();
  EXPECT_EQ(job_.curve().last(), 19);
  EXPECT_EQ(files_.totals().not_understood, 0U);
  // The next process of the rank begins on a line of its own, or does not.
  write(1, "\n");
  steps(21, 30, 2);
  read();
  EXPECT_EQ(files_.totals().not_understood, 1U);
  EXPECT_EQ(job_.curve().last(), 29);
  write(0, line(0, 30, 2).substr(0, 40));
  steps(31, 40, 3);
  read();
  EXPECT_EQ(files_.totals().not_understood, 2U);
  EXPECT_EQ(job_.curve().last(), 39);
  EXPECT_TRUE(errors_.empty());
  EXPECT_EQ(count(LiveEventKind::late), 0);
}

// A restart from a checkpoint: steps are done again, by other processes, into the same files.
TEST_F(FollowedFilesTest, ARestartedJobThatAppendsIsFollowed) {
  steps(0, 60, 1);
  read();
  steps(60, 80, 1, true);
  read();
  ASSERT_EQ(count(LiveEventKind::late), 1);
  for (int i = 0; i < 10; ++i) read();  // nobody writes
  steps(40, 100, 2);
  read();
  EXPECT_EQ(count(LiveEventKind::restarted), 1);
  EXPECT_EQ(count(LiveEventKind::no_longer_late), 1);
  EXPECT_EQ(job_.curve().last(), 99);
  steps(100, 120, 2, true);
  read();
  EXPECT_EQ(count(LiveEventKind::late), 2);
  for (const LiveProcess& p : job_.processes()) EXPECT_EQ(p.replaced, p.pid < 200) << p.name;
}

TEST_F(FollowedFilesTest, ARestartedJobThatTruncatesIsFollowed) {
  steps(0, 60, 1);
  read();
  for (int i = 0; i < 10; ++i) read();
  for (int rank = 0; rank < 2; ++rank) write(rank, "", true);
  steps(0, 30, 2);
  read();
  EXPECT_EQ(files_.totals().truncations, 2U);
  EXPECT_EQ(count(LiveEventKind::restarted), 1);
  EXPECT_EQ(job_.curve().last(), 29);
  EXPECT_EQ(count(LiveEventKind::late), 0);
}

TEST_F(FollowedFilesTest, RotatedFilesAreReadToTheirEnd) {
  steps(0, 60, 1);
  read();
  steps(60, 70, 1);
  for (int rank = 0; rank < 2; ++rank) fs::rename(path(rank), path(rank).string() + ".1");
  steps(70, 90, 1);
  read();
  read();
  EXPECT_EQ(job_.curve().steps(), 90);
  EXPECT_EQ(files_.totals().rotations, 2U);
  EXPECT_EQ(count(LiveEventKind::restarted), 0);
}

// A counter since the start: 12 steps of 250 ms.
TEST_F(FollowedFilesTest, MetricsThatAreReadOnceShowTheMeanStepSinceTheStart) {
  std::ofstream(folder_ / "engine.prom")
      << "stepscope_steps_total 12\nstepscope_wall_seconds_total 3\n"
         "stepscope_activity_seconds_total{rank=\"0\",activity=\"forward\"} 2\n"
         "stepscope_activity_seconds_total{rank=\"1\",activity=\"forward\"} 3\n# EOF\n";
  read();
  EXPECT_EQ(job_.step_source(), StepSource::none);  // more may come
  files_.conclude(job_, now_);
  EXPECT_EQ(job_.step_source(), StepSource::engine);
  EXPECT_EQ(job_.curve().steps(), 12);
  EXPECT_EQ(job_.curve().last(), 12);
  EXPECT_NEAR(*job_.curve().recent_ns(), 250e6, 1);
  EXPECT_TRUE(job_.curve().one_mean());
  EXPECT_EQ(job_.processes().size(), 2U);
  files_.conclude(job_, now_);
  EXPECT_EQ(job_.curve().steps(), 12) << "counted once";
}

TEST_F(FollowedFilesTest, PrometheusTextOfInspectorIsNotReadAndThatIsSaidOnce) {
  for (const char* gpu : {"a", "b"})
    std::ofstream(folder_ / ("nccl_inspector_metrics_" + std::string(gpu) + ".prom"))
        << R"(nccl_bus_bandwidth_gbs{node="n",gpu="GPU0",comm_name="unknown",nranks="8"} 44.1)"
        << "\n"
        << R"(nccl_collective_exec_time_microseconds{node="n",gpu="GPU0",nranks="8"} 104164)"
        << "\n";
  std::ofstream(folder_ / "node.prom") << "node_load1 0.5\n";
  for (int i = 0; i < 3; ++i) read();
  ASSERT_EQ(errors_.size(), 1U);
  EXPECT_NE(errors_[0].message().find("leave NCCL_INSPECTOR_PROM_DUMP unset"), std::string::npos)
      << errors_[0].message();
  EXPECT_TRUE(job_.processes().empty());
}

// A restart with fewer ranks: those that are gone are no silent ranks.
TEST_F(FollowedFilesTest, AJobThatIsRestartedWithFewerRanksHasNoSilentOnes) {
  for (int step = 0; step < 40; ++step)
    for (int rank = 0; rank < 2; ++rank) write(rank, line(rank, step, 1) + "\n");
  read();
  for (int i = 0; i < 10; ++i) read();
  for (int step = 40; step < 200; ++step) {
    write(0, R"({"stepscope":"step","rank":0,"world":1,"host":"h","pid":900,"run":9,"step":)" +
                 std::to_string(step) + R"(,"wall_ns":1000000,"wait_ns":0})" + "\n");
    read();
  }
  EXPECT_EQ(count(LiveEventKind::restarted), 1);
  EXPECT_EQ(count(LiveEventKind::silent), 0);
  for (const LiveProcess& p : job_.processes()) EXPECT_EQ(p.replaced, p.pid != 900) << p.name;
}

// 72 hours at a step a second.
TEST_F(FollowedFilesTest, MemoryOfThreeDaysOfStepsIsBounded) {
  const auto run = [&](int from, int to) {
    for (int step = from; step < to; ++step) {
      for (int rank = 0; rank < 2; ++rank)
        job_.rank_step(job_.process("h pid " + std::to_string(rank)),
                       {.rank = rank, .world = 2, .peers = 0, .peer_count = 2},
                       {.step = step, .wall_ns = 1e9, .wait_ns = 2e8 + 1e6 * (step % 7), .run = 1},
                       step);
      if (step % 16 == 0) job_.settle(step);
      static_cast<void>(job_.take_events());
    }
  };
  const auto resident = [] {
    std::ifstream in("/proc/self/statm");
    std::size_t all = 0, pages = 0;
    in >> all >> pages;
    return pages * static_cast<std::size_t>(::getpagesize());
  };
  run(0, 24 * 3600);
  const std::size_t day = resident();
  run(24 * 3600, 72 * 3600);
  job_.settle(72 * 3600);
  EXPECT_LT(resident(), day + (std::size_t{2} << 20));
  EXPECT_EQ(job_.curve().steps(), 72 * 3600);
}

}  // namespace
}  // namespace stepscope
