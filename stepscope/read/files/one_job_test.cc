// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/files/one_job.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

struct Made {
  std::string path;
  std::optional<int> rank{};
  std::optional<int> world{};
  std::int64_t begin_s = 0;  // on the unix clock; < 0: on a relative one
  bool communicates = false;
  std::string device{};
  std::int64_t pid = 1;
};

Trace trace_of(const Made& made) {
  Trace t;
  t.metadata.rank = made.rank;
  t.metadata.world_size = made.world;
  t.metadata.clock = made.begin_s < 0 ? Clock::relative : Clock::unix_epoch;
  if (!made.device.empty()) t.metadata.devices = {{.id = 0, .name = made.device}};
  t.tracks.push_back({.pid = made.pid});
  for (const char* name : {"aten::mm", made.communicates ? "nccl:all_reduce" : "aten::add"}) {
    Slice slice;
    slice.start = std::chrono::seconds(std::max<std::int64_t>(made.begin_s, 0));
    slice.dur = std::chrono::seconds(1);
    slice.name = t.strings.intern(name);
    slice.category = Category::cpu_op;
    append(t, slice);
  }
  return t;
}

// Per file, whether it belongs to the job; the reasons of those that do not.
std::pair<std::vector<bool>, std::vector<std::string>> job_of(const std::vector<Made>& made) {
  std::vector<FileTraces> files;
  std::vector<std::string> paths;
  for (const Made& m : made) {
    files.emplace_back().push_back(trace_of(m));
    paths.push_back(m.path);
  }
  std::pair<std::vector<bool>, std::vector<std::string>> answer;
  for (const auto& why : jobs_of(files, paths).left_out) {
    answer.first.push_back(!why);
    if (why) answer.second.push_back(*why);
  }
  return answer;
}

using Kept = std::vector<bool>;

TEST(OneJob, RanksOfOneWorldStayTogetherWithoutCollectives) {
  EXPECT_EQ(
      job_of({{.path = "a", .rank = 0, .world = 2}, {.path = "b", .rank = 1, .world = 2}}).first,
      (Kept{true, true}));
  // Their hosts may have other devices.
  EXPECT_EQ(job_of({{.path = "a", .rank = 0, .world = 2, .device = "H100"},
                    {.path = "b", .rank = 1, .world = 2, .device = "A100"}})
                .first,
            (Kept{true, true}));
}

TEST(OneJob, NamesOrCollectivesTieFilesWithoutMetadata) {
  EXPECT_EQ(job_of({{.path = "rank0.json"}, {.path = "rank1.json"}}).first, (Kept{true, true}));
  EXPECT_EQ(
      job_of({{.path = "x", .communicates = true}, {.path = "y", .communicates = true}}).first,
      (Kept{true, true}));
  // Clocks that cannot be compared do not show one job.
  const auto clocks = job_of({{.path = "x", .begin_s = -1, .communicates = true},
                              {.path = "y", .begin_s = -1, .communicates = true}});
  EXPECT_EQ(clocks.first, (Kept{true, false}));
  EXPECT_EQ(clocks.second.at(0),
            "belongs to another job than x: neither ranks nor clocks tie it to that one; put ranks "
            "into the names, as rank0.json");
  const auto [kept, why] = job_of({{.path = "x"}, {.path = "y"}});
  EXPECT_EQ(kept, (Kept{true, false}));
  EXPECT_EQ(why.at(0),
            "belongs to another job than x: neither a rank of its own nor a collective ties it to "
            "that one");
}

TEST(OneJob, CapturesAtAnotherTimeAreLeftOut) {
  const auto [kept, why] = job_of({{.path = "rank0.json"}, {.path = "rank1.json", .begin_s = 70}});
  EXPECT_EQ(kept, (Kept{true, false}));
  EXPECT_NE(why.at(0).find("captured at another time (69 s between them)"), std::string::npos);
  // Clocks of two hosts may be minutes apart, and a relative clock shows nothing.
  EXPECT_EQ(job_of({{.path = "rank0.json", .communicates = true},
                    {.path = "rank1.json", .begin_s = 70, .communicates = true}})
                .first,
            (Kept{true, true}));
  EXPECT_EQ(job_of({{.path = "rank0.json"}, {.path = "rank1.json", .begin_s = -1}}).first,
            (Kept{true, true}));
}

TEST(OneJob, TwoCapturesOfOneRankAreWindowsOnlyOfOneProcess) {
  EXPECT_EQ(job_of({{.path = "a", .rank = 0, .world = 8},
                    {.path = "b", .rank = 0, .world = 8, .begin_s = 70}})
                .first,
            (Kept{true, true}));
  EXPECT_EQ(job_of({{.path = "a", .rank = 0, .world = 8},
                    {.path = "b", .rank = 0, .world = 8, .begin_s = 70, .pid = 2}})
                .first,
            (Kept{true, false}));
}

TEST(OneJob, TheLargestGroupIsTheJob) {
  EXPECT_EQ(job_of({{.path = "old", .rank = 0, .world = 4},
                    {.path = "ddp_rank0", .rank = 0, .world = 2},
                    {.path = "ddp_rank1", .rank = 1, .world = 2}})
                .first,
            (Kept{false, true, true}));
  EXPECT_EQ(job_of({{.path = "ddp_rank0.json", .begin_s = -1, .communicates = true},
                    {.path = "ddp_rank1.json", .begin_s = -1, .communicates = true},
                    {.path = "zero_rank0.json", .begin_s = -1, .communicates = true},
                    {.path = "zero_rank1.json", .begin_s = -1, .communicates = true}})
                .first,
            (Kept{true, true, false, false}));
}

TEST(OneJob, OtherDevicesOrWorldsAreLeftOut) {
  EXPECT_EQ(
      job_of({{.path = "rank0.json", .device = "H100"}, {.path = "rank1.json", .device = "A100"}})
          .first,
      (Kept{true, false}));
  EXPECT_EQ(
      job_of({{.path = "a", .rank = 0, .world = 2}, {.path = "b", .rank = 1, .world = 4}}).first,
      (Kept{true, false}));
}

TEST(OneJob, EachJobHasItsFilesRanksAndBegin) {
  std::vector<FileTraces> files;
  std::vector<std::string> paths;
  for (const Made& m : {Made{.path = "a0", .rank = 0, .world = 2, .begin_s = 2'000'000'000},
                        Made{.path = "b0", .rank = 0, .world = 4, .begin_s = 2'000'000'500},
                        Made{.path = "b1", .rank = 1, .world = 4, .begin_s = 2'000'000'501}}) {
    files.emplace_back().push_back(trace_of(m));
    files.back().front().strings.intern("ProfilerStep#1");
    paths.push_back(m.path);
  }
  const std::vector<RecordedJob> jobs = jobs_of(files, paths).jobs;
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].files, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(jobs[0].world, 4);
  EXPECT_EQ(jobs[0].begin, std::optional<Ns>(std::chrono::seconds(2'000'000'500)));
  EXPECT_EQ(jobs[1].files, (std::vector<std::size_t>{0}));
  EXPECT_EQ(jobs[1].steps, 1u);
}

}  // namespace
}  // namespace stepscope
