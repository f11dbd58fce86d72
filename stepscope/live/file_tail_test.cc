// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/file_tail.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t everything = ~std::uint64_t{0};

class FileTailTest : public testing::Test {
 protected:
  void append(const std::string& text, const fs::path& path) {
    std::ofstream(path, std::ios::app | std::ios::binary) << text;
  }
  void append(const std::string& text) { append(text, path_); }

  TailState poll(FileTail& tail, std::uint64_t budget = everything) {
    const auto state = tail.poll(
        budget, [&](std::string_view line) { lines_.emplace_back(line); },
        [&] { lines_.emplace_back("<again>"); });
    EXPECT_TRUE(state) << state.error().message();
    return state ? *state : TailState::missing;
  }
  std::vector<std::string> taken() { return std::exchange(lines_, {}); }

  const test::Folder scratch_;
  const fs::path folder_ = scratch_.path;
  const fs::path path_ = folder_ / "log";
  std::vector<std::string> lines_;
};

using Lines = std::vector<std::string>;

TEST_F(FileTailTest, ContinuesWhereItStopped) {
  FileTail tail(path_.string(), everything);
  EXPECT_EQ(poll(tail), TailState::missing);
  append("a\nb");
  EXPECT_EQ(poll(tail), TailState::caught_up);
  EXPECT_EQ(taken(), Lines({"a"}));
  EXPECT_EQ(tail.unfinished(), "b");
  append("c\r\n\nd\n");
  EXPECT_EQ(poll(tail), TailState::caught_up);
  EXPECT_EQ(taken(), Lines({"bc", "d"}));
  EXPECT_EQ(poll(tail), TailState::caught_up);
  EXPECT_EQ(taken(), Lines());
  EXPECT_EQ(tail.counts().bytes, 9U);
}

TEST_F(FileTailTest, ReadsTheOldFileToItsEndWhenItIsRotated) {
  FileTail tail(path_.string(), everything);
  append("a\n");
  poll(tail);
  append("b\n");
  fs::rename(path_, folder_ / "log.1");
  append("c\n", folder_ / "log.1");
  append("d\n");
  poll(tail);
  EXPECT_EQ(taken(), Lines({"a", "b", "c", "<again>", "d"}));
  EXPECT_EQ(tail.counts().rotations, 1U);
}

TEST_F(FileTailTest, AppendedAfterTheNameIsGone) {
  FileTail tail(path_.string(), everything);
  append("a\n");
  poll(tail);
  fs::rename(path_, folder_ / "log.1");
  EXPECT_EQ(poll(tail), TailState::missing);
  append("b\n", folder_ / "log.1");
  EXPECT_EQ(poll(tail), TailState::missing);
  append("c\n");
  poll(tail);
  EXPECT_EQ(taken(), Lines({"a", "b", "<again>", "c"}));
}

TEST_F(FileTailTest, BeginsAgainWhenTheFileIsTruncated) {
  FileTail tail(path_.string(), everything);
  append("a long line\nhalf");
  poll(tail);
  fs::resize_file(path_, 0);
  append("x\n");
  poll(tail);
  EXPECT_EQ(taken(), Lines({"a long line", "<again>", "x"}));
  EXPECT_EQ(tail.counts().truncations, 1U);
}

// Copying a log away and truncating it leaves the same file. If it has grown beyond the old place
// meanwhile, only its content shows it.
TEST_F(FileTailTest, BeginsAgainWhenTheFileIsOverwrittenInPlace) {
  FileTail tail(path_.string(), everything);
  append("one\ntwo\n");
  poll(tail);
  fs::resize_file(path_, 0);
  append("three\nfour\nfive\nsix\n");
  poll(tail);
  EXPECT_EQ(taken(), Lines({"one", "two", "<again>", "three", "four", "five", "six"}));
  EXPECT_EQ(tail.counts().truncations, 1U);
}

TEST_F(FileTailTest, BeginsAgainWhenTheFileIsOverwrittenInItsSize) {
  FileTail tail(path_.string(), everything);
  append("one\n");
  poll(tail);
  std::ofstream(path_) << "two\n";
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds(1));
  poll(tail);
  EXPECT_EQ(taken(), Lines({"one", "<again>", "two"}));
  EXPECT_EQ(poll(tail), TailState::caught_up);
  EXPECT_EQ(taken(), Lines());
}

TEST_F(FileTailTest, BeginsNearTheEndOfALargeFile) {
  for (int i = 0; i < 1000; ++i) append(std::to_string(10'000 + i) + "\n");
  FileTail inside(path_.string(), 15);
  poll(inside);
  EXPECT_EQ(taken(), Lines({"10998", "10999"}));
  EXPECT_EQ(inside.counts().skipped_bytes, 6000U - 16U);
  FileTail at_a_line(path_.string(), 12);
  poll(at_a_line);
  EXPECT_EQ(taken(), Lines({"10998", "10999"}));
}

TEST_F(FileTailTest, KeepsToItsBudget) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += std::to_string(100'000 + i) + "\n";
  append(text);
  FileTail tail(path_.string(), everything);
  std::size_t polls = 0;
  while (poll(tail, 1) == TailState::more) ++polls;
  EXPECT_GE(polls, 4U);  // 280,000 bytes in pieces of 65,536
  ASSERT_EQ(lines_.size(), 40'000U);
  EXPECT_EQ(lines_.back(), "139999");
}

TEST_F(FileTailTest, DropsALineThatIsTooLong) {
  append(std::string(most_line_bytes + 1, 'x') + "\nnext\n");
  append(std::string(most_line_bytes, 'y'));
  FileTail tail(path_.string(), everything);
  poll(tail);
  EXPECT_EQ(taken(), Lines({"next"}));
  EXPECT_EQ(tail.counts().long_lines, 1U);
  append("\n");
  poll(tail);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0].size(), most_line_bytes);
}

TEST_F(FileTailTest, RefusesWhatIsNoFile) {
  fs::create_directory(path_);
  FileTail tail(path_.string(), everything);
  const auto state = tail.poll(1, [](std::string_view) {}, [] {});
  ASSERT_FALSE(state);
  EXPECT_NE(state.error().message().find("regular file"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
