// SPDX-License-Identifier: Apache-2.0
// Merges every run into one trace of either format. Viewers show it correctly, and reading it gives
// the same answers.
#include "tests/program/program.h"
#include "tests/roundtrip/chrome_file.h"
#include "tests/roundtrip/same_answers.h"
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

using Merged = SharedData;

TEST_F(Merged, RunsGiveTheSameAnswers) {
  std::size_t several_ranks = 0;
  for (const TracedRun& run : runs(root)) {
    const program::ScratchFolder scratch;
    std::size_t ranks = 0;
    for (const char* name : {"merged.json.gz", "merged.pftrace"}) {
      const std::string merged = scratch.file(name);
      const auto original = program::analyze(run.files, {"--perfetto", merged});
      ASSERT_EQ(original.outcome.exit_code, 0) << run.name << original.outcome.errors;
      // Rows of unknown categories have no category in the copy, which is refused.
      if (original.json["answer"]["sentence"].get<std::string>().starts_with("No row has a cat"))
        continue;
      const auto again = program::analyze({merged});
      ASSERT_EQ(again.outcome.exit_code, 0) << run.name << again.outcome.errors;
      EXPECT_EQ(roundtrip::differences(original.json, again.json), std::vector<std::string>{})
          << run.name << ' ' << name;
      ranks = original.json.at("ranks").size();
    }
    several_ranks += ranks > 1 ? 1U : 0U;
  }
  EXPECT_GE(several_ranks, 9U);
}

TEST_F(Merged, RunsAreShownAsTheyAre) {
  std::size_t device_slices = 0;
  std::size_t flows = 0;
  for (const TracedRun& run : runs(root)) {
    const program::ScratchFolder scratch;
    const std::string merged = scratch.file("merged.json.gz");
    const auto original = program::analyze(run.files, {"--perfetto", merged});
    ASSERT_EQ(original.outcome.exit_code, 0) << run.name << original.outcome.errors;
    std::uint64_t events = 0;
    for (const auto& input : original.json.at("inputs"))
      events += input.at("events").get<std::uint64_t>();
    if (events > 150'000) continue;  // a JSON tree would take gigabytes
    const roundtrip::ChromeFile file = roundtrip::inspect(merged);
    EXPECT_EQ(file.problems, std::vector<std::string>{}) << run.name;
    device_slices += file.device_slices;
    flows += file.flows;
  }
  EXPECT_GT(device_slices, 100'000U);
  EXPECT_GT(flows, 50'000U);
}

}  // namespace
}  // namespace stepscope::shared
