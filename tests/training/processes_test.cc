// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes come to the same bits as ranks that are threads.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stepscope/comm/shm_group.h"
#include "stepscope/zero/engine_test_run.h"

namespace stepscope {
namespace {

// A folder of its own, removed with what it holds.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "training-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void read_rank(const std::string& path, zero::TestState& into) {
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  const auto number = [&] {
    std::int64_t value = 0;
    in.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  };
  for (std::int64_t unit = number(); in; unit = number()) {
    const std::int64_t first = number();
    const std::int64_t count = number();
    const auto u = static_cast<std::size_t>(unit);
    for (auto* part : {&into.master, &into.m, &into.v}) {
      in.read(reinterpret_cast<char*>((*part)[u].data() + first),
              static_cast<std::streamsize>(count * 4));
    }
    ASSERT_TRUE(in) << path;
  }
}

TEST(TrainingProcesses, ComeToTheBitsOfThreads) {
  const Folder folder;
  int configurations = 0;
  std::int64_t found = 0;
  for (const int ranks : {1, 2, 3}) {
    const zero::TestRun run{.ranks = ranks, .steps = 3, .uneven = true};
    const zero::TestOutcome reference = zero::train_threads(run);
    zero::expect_no_errors(reference);
    for (int stage = 0; stage <= 3; ++stage) {
      for (const int bucket : {37 * 4 * ranks, 1 << 20}) {
        for (const int recompute : {0, 2}) {
          const std::string file = folder.file("state");
          const std::vector<std::string> argv = {STEPSCOPE_TRAIN_RANK,
                                                 std::to_string(stage),
                                                 std::to_string(bucket),
                                                 "1",
                                                 std::to_string(recompute),
                                                 "3",
                                                 file};
          const auto report = spawn_ranks(argv, ranks);
          ASSERT_TRUE(report) << report.error().message();
          ASSERT_FALSE(report->first_failed) << *report->first_failed;
          zero::TestState state = reference.state;
          for (auto* part : {&state.master, &state.m, &state.v}) {
            for (auto& unit : *part) std::fill(unit.begin(), unit.end(), -1.0F);
          }
          for (int rank = 0; rank < ranks; ++rank) {
            read_rank(file + "." + std::to_string(rank), state);
          }
          const std::int64_t here = zero::differences(state, reference.state);
          EXPECT_EQ(here, 0) << "stage " << stage << ", " << ranks << " ranks";
          found += here;
          ++configurations;
        }
      }
    }
  }
  std::printf("shm: %d configurations, %lld differences\n", configurations,
              static_cast<long long>(found));
}

}  // namespace
}  // namespace stepscope
