// SPDX-License-Identifier: Apache-2.0
// The digests of the bundled example give the answers of its traces, exactly.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/program/program.h"
#include "tests/roundtrip/same_answers.h"

namespace stepscope::roundtrip {
namespace {

const std::filesystem::path traces =
    std::filesystem::path(STEPSCOPE_SOURCE_DIR) / "examples" / "train_tiny" / "traces";

// The JSON of `verb` on these folders of `root`, without the root's own path.
std::string answer(const std::string& verb, const std::string& root,
                   const std::vector<std::string>& folders,
                   const std::vector<std::string>& flags = {}) {
  std::vector<std::string> words = {verb};
  for (const std::string& folder : folders) words.push_back(root + "/" + folder);
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--json", "-"});
  const program::Outcome outcome = program::run(words);
  EXPECT_EQ(outcome.exit_code, 0) << verb << ": " << outcome.errors;
  if (outcome.printed.empty()) return {};
  std::string text = without_file_sizes(nlohmann::json::parse(outcome.printed)).dump();
  for (std::size_t at = text.find(root); at != std::string::npos; at = text.find(root, at))
    text.replace(at, root.size(), "ROOT");
  return text;
}

TEST(Digests, GiveTheSameAnswersOfEachVerb) {
  const program::ScratchFolder scratch;
  const std::string digests = scratch.file("digests");
  const program::Outcome made = program::run({"digest", traces.string(), "--out", digests});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  const auto same = [&](const std::string& verb, const std::vector<std::string>& folders,
                        const std::vector<std::string>& flags = {}) {
    const std::string of_digests = answer(verb, digests, folders, flags);
    EXPECT_GT(of_digests.size(), 500U) << verb;
    EXPECT_EQ(of_digests, answer(verb, traces.string(), folders, flags)) << verb;
  };
  same("analyze", {"ddp"}, {"--timeline"});
  same("analyze", {"fsdp"});
  for (const char* change : {"bandwidth:2", "compute:matmul:1.5", "rank_as_peers@1"})
    same("whatif", {"fsdp"}, {"--change", change});
  same("check", {"ddp"});
  same("compare", {"ddp", "fsdp"});
}

TEST(Digests, LeaveABrokenRankOutAndNameIt) {
  const program::ScratchFolder scratch;
  const std::string digests = scratch.file("digests");
  ASSERT_EQ(program::run({"digest", (traces / "ddp").string(), "--out", digests}).exit_code, 0);
  std::string broken;
  for (const auto& file : std::filesystem::directory_iterator(digests))
    broken = file.path().string();
  std::filesystem::resize_file(broken, std::filesystem::file_size(broken) / 2);
  const program::Outcome outcome = program::run({"analyze", digests, "--json", "-"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.errors.find(broken), std::string::npos) << outcome.errors;
  EXPECT_EQ(nlohmann::json::parse(outcome.printed).at("ranks").size(), 1U);
}

}  // namespace
}  // namespace stepscope::roundtrip
