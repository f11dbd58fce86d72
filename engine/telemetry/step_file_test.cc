// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/step_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class StepFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("step_file_test_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] static StepRecord step(std::int64_t index) {
    StepRecord record{.index = index, .begin = Ns{1000}, .end = Ns{2000}};
    record.activity[slot(Activity::forward)] = Ns{600};
    record.activity[slot(Activity::wait_reduce)] = Ns{300};
    record.activity[slot(Activity::data)] = Ns{100};
    return record;
  }
  static std::vector<std::string> lines(const fs::path& path) {
    std::vector<std::string> out;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  StepFile open(std::uint64_t most = StepFile::usual_most_bytes) {
    auto made =
        StepFile::open(folder_.string(), {.rank = 3, .world = 8, .host = "no\"de", .pid = 7}, most);
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }

  fs::path folder_;
};

TEST_F(StepFileTest, WritesALineOfJsonPerStep) {
  StepFile file = open();
  ASSERT_TRUE(file.write(step(5)));
  const auto written = lines(folder_ / "steps-rank3.jsonl");
  ASSERT_EQ(written.size(), 1U);
  const auto line = nlohmann::json::parse(written[0]);
  EXPECT_EQ(line["rank"], 3);
  EXPECT_EQ(line["world"], 8);
  EXPECT_EQ(line["host"], "no\"de");
  EXPECT_EQ(line["step"], 5);
  EXPECT_EQ(line["wall_ns"], 1000);
  EXPECT_EQ(line["wait_ns"], 300);
  EXPECT_EQ(line["phases_ns"], (nlohmann::json{{"forward", 600}, {"data", 100}}));
  EXPECT_FALSE(line.contains("lost"));
}

TEST_F(StepFileTest, ALaterRunAppendsToALineOfItsOwn) {
  {
    StepFile file = open();
    ASSERT_TRUE(file.write(step(0)));
  }
  std::ofstream(folder_ / "steps-rank3.jsonl", std::ios::app) << R"({"stepscope":"st)";  // killed
  StepFile file = open();
  ASSERT_TRUE(file.write(step(0)));
  std::size_t whole = 0;
  for (const std::string& line : lines(folder_ / "steps-rank3.jsonl"))
    whole += nlohmann::json::accept(line) ? 1U : 0U;
  EXPECT_EQ(whole, 2U);
}

TEST_F(StepFileTest, TakesTwiceItsLimitAtMost) {
  constexpr std::uint64_t most = 4000;
  StepFile file = open(most);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(file.write(step(i)));
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) bytes += entry.file_size();
  EXPECT_LE(bytes, 2 * (most + 400));
  const auto newest = lines(folder_ / "steps-rank3.jsonl");
  ASSERT_FALSE(newest.empty());
  EXPECT_EQ(nlohmann::json::parse(newest.back())["step"], 199);
}

// The limit of a file's size stands for a full disk: a line is cut, the next ones fail.
TEST_F(StepFileTest, AFullDiskCutsNoLaterLine) {
  StepFile file = open();
  ASSERT_TRUE(file.write(step(0)));
  const auto was = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = fs::file_size(file.path()) + 50;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  for (int i = 1; i < 4; ++i) {
    const auto written = file.write(step(i));
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().hint.find("make room"), std::string::npos);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, was);
  ASSERT_TRUE(file.write(step(4)));
  ASSERT_TRUE(file.write(step(5)));
  std::vector<nlohmann::json> whole;
  for (const std::string& line : lines(file.path()))
    if (nlohmann::json::accept(line)) whole.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(whole.size(), 3U);
  EXPECT_EQ(whole[1]["step"], 4);
  EXPECT_EQ(whole[1]["lost"], 3);
  EXPECT_FALSE(whole[2].contains("lost"));
}

TEST_F(StepFileTest, SaysThatItCannotWrite) {
  std::ofstream(folder_.string()) << "a file";
  const auto made = StepFile::open(folder_.string(), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().file, (folder_ / "steps-rank0.jsonl").string());
}

}  // namespace
}  // namespace stepscope
