// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/files/input_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class InputFilesTest : public testing::Test {
 protected:
  void touch(const std::string& name) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << "x";
  }
  // The files found, relative to the root.
  [[nodiscard]] std::vector<std::string> found(const std::vector<std::string>& inputs) {
    std::vector<std::string> full;
    for (const std::string& input : inputs) full.push_back((root_ / input).string());
    result_ = find_input_files(full);
    std::vector<std::string> names;
    for (const std::string& file : result_.files)
      names.push_back(fs::relative(file, root_).string());
    return names;
  }
  const test::Folder folder_;
  const fs::path root_ = folder_.path;
  InputFiles result_;
};

using Names = std::vector<std::string>;

TEST_F(InputFilesTest, ADirectoryGivesItsTracesAtAnyDepthInNaturalOrder) {
  for (const char* name :
       {"a/rank10.json", "a/rank2.json.gz", "a/deep/er/x.json.zst", "a/notes.txt", "a/json"})
    touch(name);
  EXPECT_EQ(found({"a"}), (Names{"a/deep/er/x.json.zst", "a/rank2.json.gz", "a/rank10.json"}));
  EXPECT_TRUE(result_.errors.empty());
}

TEST_F(InputFilesTest, AFileNamedOutrightMayEndAsItLikes) {
  touch("trace.txt");
  EXPECT_EQ(found({"trace.txt"}), (Names{"trace.txt"}));
}

TEST_F(InputFilesTest, PatternsAreExpandedAndNoFileCountsTwice) {
  for (const char* name : {"r1.json", "r2.json", "d/r3.json"}) touch(name);
  EXPECT_EQ(found({"r2.json", "r*.json", "./r1.json", "d/../r1.json", "[d]"}),
            (Names{"r2.json", "r1.json", "d/r3.json"}));
  fs::create_symlink(root_ / "r1.json", root_ / "link.json");
  EXPECT_EQ(found({"r1.json", "link.json"}), (Names{"r1.json"}));
}

TEST_F(InputFilesTest, XlasCopyForAViewerIsLeftOutBesideItsProfile) {
  for (const char* name : {"run/a.xplane.pb", "run/a.trace.json.gz", "run/b.trace.json.gz"})
    touch(name);
  EXPECT_EQ(found({"run"}), (Names{"run/a.xplane.pb", "run/b.trace.json.gz"}));
}

TEST_F(InputFilesTest, DatabasesOfOtherProfilersAreTriedWhereNoTraceIs) {
  for (const char* name : {"alone/a.db", "both/a.db", "both/rank0.json"}) touch(name);
  EXPECT_EQ(found({"alone", "both"}), (Names{"alone/a.db", "both/rank0.json"}));
}

TEST_F(InputFilesTest, WhatGivesNothingSaysWhy) {
  fs::create_directories(root_ / "empty");
  touch("text/readme.md");
  EXPECT_TRUE(found({"missing.json", "empty", "text", "*.gz"}).empty());
  ASSERT_EQ(result_.errors.size(), 4U);
  EXPECT_EQ(result_.errors[0].what, "no such file or directory");
  EXPECT_EQ(result_.errors[1].what, "no traces in this directory");
  EXPECT_EQ(result_.errors[2].what, "no traces in this directory");
  EXPECT_EQ(result_.errors[3].what, "no file matches this pattern");
  for (const Error& error : result_.errors) EXPECT_FALSE(error.hint.empty());
}

TEST_F(InputFilesTest, NumbersCompareByValueAndEqualOnesByText) {
  for (const char* name : {"r01.json", "r1.json", "r9.json", "r100.json", "ra.json", "r.json"})
    touch(name);
  EXPECT_EQ(found({"."}),
            (Names{"r.json", "r01.json", "r1.json", "r9.json", "r100.json", "ra.json"}));
}

}  // namespace
}  // namespace stepscope
