// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/disk_file.h"

#include <array>

#include "engine/zero/drive/disk_test_files.h"

namespace stepscope::zero {
namespace {

class DiskFileTest : public DiskTest {};

TEST_F(DiskFileTest, ReadsWhatItWrote) {
  auto file = DiskFile::create(path("a"));
  ASSERT_TRUE(file);
  const std::array<std::byte, 3> bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
  ASSERT_TRUE(file->write(5, bytes));
  ASSERT_TRUE(file->sync());
  EXPECT_EQ(*file->size(), 8U);
  std::array<std::byte, 3> back{};
  ASSERT_TRUE(file->read(5, back));
  EXPECT_EQ(back, bytes);
  EXPECT_TRUE(sync_directory(dir_));
}

TEST_F(DiskFileTest, NamesFileAndByteWhereItEnds) {
  auto file = DiskFile::open(write("a", "12345"));
  ASSERT_TRUE(file);
  std::array<std::byte, 4> into{};
  const auto read = file->read(3, into);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().file, path("a"));
  EXPECT_EQ(read.error().byte, 5U);
}

TEST_F(DiskFileTest, OpensRegularFilesOnly) {
  EXPECT_NE(DiskFile::open(path("no")).error().message().find("check the path"), std::string::npos);
  EXPECT_NE(DiskFile::open(dir_).error().message().find("no regular file"), std::string::npos);
  EXPECT_FALSE(DiskFile::create(path("no/such/place")));
  EXPECT_FALSE(sync_directory(path("no")));
}

TEST_F(DiskFileTest, FullDiskNamesTheByte) {
  const TinyDisk disk(path("disk"), 1 << 16);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  auto file = DiskFile::create(path("disk/a"));
  ASSERT_TRUE(file);
  const std::vector<std::byte> bytes(1 << 18);
  const auto written = file->write(0, bytes);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().byte, 1U << 16);
  EXPECT_EQ(written.error().hint, "free space or choose another place");
}

}  // namespace
}  // namespace stepscope::zero
