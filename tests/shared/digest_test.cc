// SPDX-License-Identifier: Apache-2.0
// The digests of every run give the answers of its traces, exactly, and are small.
#include <cstdint>

#include "tests/program/program.h"
#include "tests/roundtrip/same_answers.h"
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

using Digests = SharedData;

// The answer as JSON, or the exit code without an answer.
nlohmann::json answer(const char* verb, const std::vector<std::string>& inputs) {
  std::vector<std::string> words = {verb};
  words.insert(words.end(), inputs.begin(), inputs.end());
  words.insert(words.end(), {"--json", "-"});
  const program::Outcome outcome = program::run(words);
  if (outcome.printed.empty()) return outcome.exit_code;
  return roundtrip::without_file_sizes(nlohmann::json::parse(outcome.printed));
}

TEST_F(Digests, OfRunsGiveTheSameAnswers) {
  std::uint64_t text = 0;
  std::uint64_t bytes = 0;
  std::size_t several_ranks = 0;
  for (const TracedRun& run : runs(root)) {
    const program::ScratchFolder scratch;
    const std::string digests = scratch.file("digests");
    const std::vector<std::string> files(run.files.begin(), run.files.end());
    std::vector<std::string> words = {"digest", "--out", digests, "--json", "-"};
    words.insert(words.end(), files.begin(), files.end());
    const program::Outcome made = program::run(words);
    ASSERT_EQ(made.exit_code, 0) << run.name << made.errors;
    const nlohmann::json result = nlohmann::json::parse(made.printed);
    for (const auto& digest : result.at("digests")) {
      text += digest.at("text_bytes").get<std::uint64_t>();
      bytes += digest.at("bytes").get<std::uint64_t>();
    }
    for (const char* verb : {"analyze", "whatif"})
      EXPECT_EQ(answer(verb, {digests}), answer(verb, files)) << verb << ' ' << run.name;
    several_ranks += files.size() > 1 ? 1U : 0U;
  }
  EXPECT_GE(several_ranks, 9U);
  EXPECT_LT(static_cast<double>(bytes), 0.01 * static_cast<double>(text));
}

}  // namespace
}  // namespace stepscope::shared
