// SPDX-License-Identifier: Apache-2.0
// A disk that is full for a while, or for ever.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "plugins/nccl/plugin_test_driver.h"
#include "stepscope/read/files/read_trace.h"

namespace stepscope::nccl::test {
namespace {

void play(const Player<6>& nccl, std::size_t calls) {
  for (std::size_t i = 0; i < calls; ++i) {
    void* coll = nccl.coll({.channels = 1});
    nccl.stop(coll);
    const auto t = static_cast<std::uint64_t>(now_ns());
    nccl.kernel(coll, 0, t, t + 1);
  }
}

// The limit of a file's size stands for a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : was_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit full = before_;
    full.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, was_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
  void (*was_)(int);
};

// Waits for what the plugin's thread does about once a second.
template <class Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 3000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

TEST(PluginDisk, OnADiskThatStaysFullTheFileEndsEarlyAndTheJobGoesOn) {
  Scratch scratch;
  logged().clear();
  const std::size_t before = warnings();
  const Library library;
  Player<6> nccl(library, 9, 2, 0);
  play(nccl, 20);
  ASSERT_TRUE(comes_true([&] {
    const auto files = scratch.files();
    return !files.empty() && Scratch::text(files[0]).find("\"Seq\":19,") != std::string::npos;
  }));
  const auto files = scratch.files();
  ASSERT_EQ(files.size(), 1U);
  const auto bytes = static_cast<rlim_t>(std::filesystem::file_size(files[0]));
  {
    const FullDisk disk(bytes + 100);
    // More than the plugin keeps while it cannot write.
    play(nccl, 3000);
    ASSERT_TRUE(comes_true([&] { return warnings() > before; }));
    nccl.finalize();
  }
  ASSERT_EQ(scratch.files(), files);
  EXPECT_TRUE(files[0].ends_with(".partial.json")) << files[0];
  EXPECT_EQ(std::filesystem::file_size(files[0]), bytes + 100);
  ASSERT_EQ(logged().size(), 3U);
  EXPECT_TRUE(logged()[1].starts_with("WARN stepscope: cannot write " + files[0] + ": File too"))
      << logged()[1];
  EXPECT_TRUE(logged()[2].starts_with("WARN stepscope: cannot complete " + files[0]))
      << logged()[2];
  const auto run = read_run(files, {});
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_TRUE(run.inputs.at(0).notes.truncated);
  EXPECT_EQ(run.ranks[0].trace.collectives.size(), 20U);

  Player<6> again(library, 9, 2, 0);
  play(again, 1);
  again.finalize();
  EXPECT_EQ(scratch.files().size(), 2U);
}

TEST(PluginDisk, WhenTheDiskHasRoomAgainTheFileGoesOnWithoutAGap) {
  constexpr rlim_t room = 5000;
  constexpr std::size_t calls = 100;
  Scratch scratch;
  logged().clear();
  const std::size_t before = warnings();
  const Library library;
  Player<6> nccl(library, 9, 2, 0);
  {
    const FullDisk disk(room);
    play(nccl, calls);
    ASSERT_TRUE(comes_true([&] { return warnings() > before; }));
  }
  play(nccl, calls);
  nccl.finalize();
  ASSERT_EQ(logged().size(), 2U);
  EXPECT_TRUE(logged()[1].ends_with("rows are dropped until there is room")) << logged()[1];
  const std::string text = Scratch::text(scratch.files().at(0));
  EXPECT_NE(text.find("\"nccl_rows_dropped\":0,"), std::string::npos);
  const auto run = read_run(scratch.files(), {});
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_FALSE(run.inputs.at(0).notes.truncated);
  EXPECT_EQ(run.ranks.at(0).trace.collectives.size(), 2 * calls);
}

}  // namespace
}  // namespace stepscope::nccl::test
