// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/offload_file.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "engine/zero/drive/disk_test_files.h"

namespace stepscope::zero {
namespace {

namespace fs = std::filesystem;

// On a disk: a file system in memory does not support O_DIRECT.
class OffloadFileTest : public DiskTest {
 protected:
  OffloadFileTest() { dir_ = testing::TempDir() + "stepscope_" + name(); }
  [[nodiscard]] OffloadOptions options(std::int64_t bytes, bool io_uring = true) const {
    return {.dir = dir_, .bytes = {bytes}, .outstanding = 4, .io_uring = io_uring};
  }
};

void fill(OffloadBuffer& buffer, std::uint32_t seed) {
  for (std::byte& b : buffer.bytes())
    b = static_cast<std::byte>((seed = seed * 1664525U + 1013904223U) >> 24U);
}

TEST_F(OffloadFileTest, ReadsWhatItWroteInAnyOrderOfWaits) {
  for (const bool io_uring : {true, false}) {
    auto file = OffloadFile::create(options(1 << 20, io_uring));
    ASSERT_TRUE(file) << file.error().message();
    std::vector<OffloadBuffer> out(4);
    std::vector<OffloadTicket> tickets;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = OffloadBuffer(65536 * (i + 1));
      fill(out[i], static_cast<std::uint32_t>(i));
      tickets.push_back(*file->write(i * (256 << 10U), out[i].bytes()));
    }
    for (const std::size_t i : {2U, 0U, 3U, 1U}) EXPECT_TRUE(file->wait(tickets[i]));
    for (std::size_t i = 0; i < out.size(); ++i) {
      OffloadBuffer in(out[i].bytes().size());
      const auto ticket = file->read(i * (256 << 10U), in.bytes());
      ASSERT_TRUE(ticket);
      while (!file->test(*ticket)) {
      }
      EXPECT_TRUE(file->wait(*ticket));
      EXPECT_TRUE(std::ranges::equal(in.bytes(), out[i].bytes())) << i;
    }
  }
}

TEST_F(OffloadFileTest, SaysHowItMovesBytes) {
  EXPECT_TRUE(
      OffloadFile::create(options(4096, false))->description().starts_with("pread and pwrite, "));
  OffloadOptions cached = options(4096, false);
  cached.direct = false;
  EXPECT_EQ(OffloadFile::create(cached)->description(), "pread and pwrite, page cache");
  // With io_uring, or without it and with the reason.
  const std::string text = OffloadFile::create(options(4096))->description();
  EXPECT_TRUE(text.starts_with("io_uring, ") || text.starts_with("pread and pwrite (")) << text;
}

TEST_F(OffloadFileTest, HasNoNameAndTakesItsSpaceAtOnce) {
  auto file = OffloadFile::create(options(1 << 20));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), Bytes{1 << 20});
  EXPECT_TRUE(fs::is_empty(dir_));
}

TEST_F(OffloadFileTest, FullDiskIsSaidAtOnce) {
  const TinyDisk disk(path("disk"), 1 << 20);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  OffloadOptions large = options(2 << 20);
  large.dir = path("disk");
  const auto file = OffloadFile::create(large);
  ASSERT_FALSE(file);
  const std::string text = file.error().message();
  EXPECT_NE(text.find("cannot take 2097152 bytes for the offload file: No space left"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("free space"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(large.dir));
  large.bytes = {1 << 19};
  EXPECT_TRUE(OffloadFile::create(large));
}

// A failed write names file and offset, and the next write works. The limit applies to a whole
// process, so a child process sets it.
TEST_F(OffloadFileTest, AFailingOperationNamesFileAndOffset) {
  for (const bool io_uring : {true, false}) {
    const auto fails = [&] {
      std::signal(SIGXFSZ, SIG_IGN);
      auto file = OffloadFile::create(options(1 << 20, io_uring));
      if (!file) std::_Exit(2);
      const rlimit limit{.rlim_cur = 128 << 10, .rlim_max = 128 << 10};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      OffloadBuffer buffer(64 << 10);
      const auto bad = file->write(512 << 10, buffer.bytes());
      const auto result = file->wait(*bad);
      if (result) std::_Exit(3);
      const Error& error = result.error();
      const bool named = error.byte == 512U << 10U && error.file.starts_with(dir_) &&
                         error.message().find("cannot write: File too large") != std::string::npos;
      const auto good = file->write(0, buffer.bytes());
      std::_Exit(named && file->wait(*good) ? 0 : 4);
    };
    EXPECT_EXIT(fails(), testing::ExitedWithCode(0), "") << io_uring;
  }
}

TEST_F(OffloadFileTest, APlaceThatIsNoneIsNamed) {
  OffloadOptions wrong = options(4096);
  wrong.dir = path("none");
  const auto file = OffloadFile::create(wrong);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message().find("cannot create the offload file"), std::string::npos);
}

TEST_F(OffloadFileTest, WaitsForItsOperationsBeforeItGoesAway) {
  OffloadBuffer buffer(1 << 20);
  fill(buffer, 1);
  for (int i = 0; i < 20; ++i) {
    auto file = OffloadFile::create(options(1 << 20));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(0, buffer.bytes()));
    ASSERT_TRUE(file->read(0, buffer.bytes().first(4096)));
  }
}

TEST_F(OffloadFileTest, MisuseIsOurBug) {
  auto file = OffloadFile::create(options(1 << 20));
  ASSERT_TRUE(file);
  OffloadBuffer buffer(8192);
  EXPECT_THROW((void)file->read(100, buffer.bytes()), Bug);
  EXPECT_THROW((void)file->read(0, buffer.bytes().subspan(16)), Bug);
  EXPECT_THROW((void)file->read(1 << 20, buffer.bytes()), Bug);
  const auto five = [&] {
    for (int i = 0; i < 5; ++i) (void)file->read(0, buffer.bytes());
  };
  EXPECT_THROW(five(), Bug);
  EXPECT_THROW((void)file->wait({99}), Bug);
}

TEST_F(OffloadFileTest, MeasuresTheDevice) {
  const auto measured = measure_offload(dir_, Bytes{4 << 20}, Bytes{1 << 20});
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_GT(measured->write.value, 0);
  EXPECT_GT(measured->read.value, 0);
  EXPECT_FALSE(measured->description.empty());
  EXPECT_TRUE(fs::is_empty(dir_));
}

}  // namespace
}  // namespace stepscope::zero
