// SPDX-License-Identifier: Apache-2.0
// Which digests are written, kept, replaced and refused.
#include "stepscope/verbs/digest/digest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/scratch_test_folder.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class DigestVerb : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  // A trace of one kernel, whose metadata names a rank of four.
  void write_trace(const std::string& name, int rank, const std::string& kernel = "gemm") const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(path(name))
        << R"({"distributedInfo": {"rank": )" << rank
        << R"(, "world_size": 4}, "traceEvents": [{"ph": "X", "cat": "kernel", "name": ")" << kernel
        << R"(", "pid": 0, "tid": 7, "ts": 1, "dur": 2}]})";
  }
  void write_text(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] Result<DigestResult> made(const std::vector<std::string>& inputs,
                                          const std::string& out = "out") const {
    std::vector<std::string> paths;
    for (const std::string& input : inputs) paths.push_back(path(input));
    return digest({.inputs = paths, .folder = path(out), .threads = 2});
  }

 private:
  const test::Folder scratch_;
  const fs::path folder_ = scratch_.path;
};

TEST_F(DigestVerb, KeepsTheFoldersBelowADirectory) {
  write_trace("in/a/t.json", 0);
  write_trace("in/b/t.json", 1);
  const auto result = made({"in"});
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->digests.size(), 2U);
  EXPECT_EQ(result->digests[0].output, path("out/a/t.json.digest"));
  EXPECT_EQ(result->digests[1].output, path("out/b/t.json.digest"));
  EXPECT_EQ(result->digests[1].ranks, std::vector<int>{1});
  EXPECT_TRUE(fs::exists(path("out/b/t.json.digest")));
  EXPECT_EQ(result->missing, (std::vector<int>{2, 3}));
}

TEST_F(DigestVerb, KeepsADigestOfAFileThatDidNotChange) {
  write_trace("a.json", 0);
  write_trace("b.json", 1);
  ASSERT_TRUE(made({"a.json"}));
  const auto again = made({"a.json", "b.json"});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->digests[0].kept);
  EXPECT_FALSE(again->digests[1].kept);
  EXPECT_EQ(again->digests[0].ranks, std::vector<int>{0});
  EXPECT_EQ(again->digests[0].text_bytes, fs::file_size(path("a.json")));
  EXPECT_EQ(again->digests[0].bytes, fs::file_size(path("out/a.json.digest")));
}

TEST_F(DigestVerb, ReplacesTheDigestOfAFileThatChangedAndOneThatIsBroken) {
  write_trace("a.json", 0);
  ASSERT_TRUE(made({"a.json"}));
  write_trace("a.json", 2, "another_kernel");
  const auto changed = made({"a.json"});
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->digests[0].kept);
  EXPECT_EQ(changed->digests[0].ranks, std::vector<int>{2});
  fs::resize_file(path("out/a.json.digest"), fs::file_size(path("out/a.json.digest")) - 1);
  const auto mended = made({"a.json"});
  ASSERT_TRUE(mended);
  EXPECT_FALSE(mended->digests[0].kept);
  EXPECT_TRUE(made({"a.json"})->digests[0].kept);
}

TEST_F(DigestVerb, NeverReplacesTheDigestOfAnotherFile) {
  write_trace("a/t.json", 0);
  write_trace("b/t.json", 1, "another_kernel");
  const auto both = made({"a/t.json", "b/t.json"});
  ASSERT_TRUE(both);
  ASSERT_EQ(both->failures.size(), 1U);
  EXPECT_EQ(both->failures[0].file, path("b/t.json"));
  const auto alone = made({"b/t.json"});
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().what.find(path("a/t.json")), std::string::npos) << alone.error().what;
  EXPECT_EQ(digest({.inputs = {path("a/t.json")}, .folder = path("out")})->digests[0].kept, true);
}

TEST_F(DigestVerb, NamesAFileThatGivesNoDigest) {
  write_trace("in/a.json", 0);
  write_text("in/b.json", "{\"traceEvents\": 7");
  const auto result = made({"in"});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->digests.size(), 1U);
  ASSERT_EQ(result->failures.size(), 1U);
  EXPECT_EQ(result->failures[0].file, path("in/b.json"));
  EXPECT_FALSE(fs::exists(path("out/b.json.digest")));
  const auto none = made({"in/b.json", "in/c.json"});
  EXPECT_FALSE(none);
}

TEST_F(DigestVerb, LeavesDigestsInAFolderAlone) {
  write_trace("in/a.json", 0);
  ASSERT_TRUE(made({"in"}, "in"));
  const auto again = made({"in"}, "in");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->digests.size(), 1U);
  EXPECT_TRUE(again->digests[0].kept);
}

TEST_F(DigestVerb, SaysThatAFolderCannotBeWritten) {
  write_trace("a.json", 0);
  write_text("out", "a file");
  const auto result = made({"a.json"});
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.error().hint.empty());
}

}  // namespace
}  // namespace stepscope
