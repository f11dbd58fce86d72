// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/output_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(dir_), fs::directory_iterator()));
  }
  const test::Folder folder_;
  const std::string dir_ = folder_.path.string() + "/";
};

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(OutputFileTest, ReplacesTheFileOnlyAtCommit) {
  const std::string path = dir_ + "a.json";
  ASSERT_TRUE(write_file(path, "old").has_value());
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file.has_value());
  file->write("ne");
  file->write("w");
  EXPECT_EQ(content(path), "old");
  ASSERT_TRUE(file->commit().has_value());
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, AReportReplacesReportsAlone) {
  const std::string report = R"({"schema":"stepscope.analyze/1"})";
  const std::string trace = dir_ + "trace.json";
  ASSERT_TRUE(write_file(trace, R"({"schemaVersion":1,"traceEvents":[]})").has_value());
  const auto refused = write_report(trace, report);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().file, trace);
  EXPECT_EQ(content(trace), R"({"schemaVersion":1,"traceEvents":[]})");
  const std::string path = dir_ + "report.json";
  ASSERT_TRUE(write_file(path, "").has_value());
  ASSERT_TRUE(write_report(path, "{\"schema\":\"stepscope.brief/1\"}").has_value());
  ASSERT_TRUE(write_report(path, report).has_value());
  EXPECT_EQ(content(path), report);
}

TEST_F(OutputFileTest, AReadOnlyFileIsKept) {
  const std::string path = dir_ + "a.json";
  ASSERT_TRUE(write_file(path, "old").has_value());
  fs::permissions(path, fs::perms::owner_read);
  EXPECT_FALSE(write_file(path, "new").has_value());
  EXPECT_EQ(content(path), "old");
}

TEST_F(OutputFileTest, WithoutCommitNothingIsLeftAndNothingIsLost) {
  const std::string path = dir_ + "a.json";
  ASSERT_TRUE(write_file(path, "old").has_value());
  {
    auto file = OutputFile::create(path);
    file->write("half");
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, ALinkThatWasLaidAtTheTemporaryNameIsNotFollowed) {
  const std::string path = dir_ + "a.json";
  const std::string laid = path + ".tmp" + std::to_string(::getpid());
  std::ofstream(dir_ + "precious") << "precious";
  fs::create_symlink(dir_ + "precious", laid);
  ASSERT_TRUE(write_file(path, "new"));
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(content(dir_ + "precious"), "precious");
  EXPECT_TRUE(fs::is_symlink(laid));
  EXPECT_EQ(files(), 3U);
}

TEST_F(OutputFileTest, WritersOfOneFileDoNotMeet) {
  const std::string path = dir_ + "a.json";
  auto one = OutputFile::create(path);
  auto other = OutputFile::create(path);
  ASSERT_TRUE(one);
  ASSERT_TRUE(other);
  one->write("one");
  other->write("other");
  ASSERT_TRUE(other->commit());
  ASSERT_TRUE(one->commit());
  EXPECT_EQ(content(path), "one");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, AFullDiskIsAnErrorThatNamesTheFile) {
  const auto full = write_file("/dev/full", std::string(100'000, 'x'));
  ASSERT_FALSE(full.has_value());
  EXPECT_NE(full.error().message().find("/dev/full: cannot write: No space left"),
            std::string::npos);
}

TEST_F(OutputFileTest, AMissingDirectoryIsAnErrorThatSaysWhatToDo) {
  const auto gone = write_file(dir_ + "no/such/a.json", "x");
  ASSERT_FALSE(gone.has_value());
  EXPECT_NE(gone.error().message().find("create the directory first"), std::string::npos);
  const auto directory = write_file(dir_, "x");
  ASSERT_FALSE(directory.has_value()) << "a directory is no file";
  EXPECT_NE(directory.error().message().find("name a file in it"), std::string::npos);
  const auto long_name = write_file(dir_ + std::string(300, 'y'), "x");
  ASSERT_FALSE(long_name.has_value());
  EXPECT_NE(long_name.error().message().find("choose a shorter name"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
