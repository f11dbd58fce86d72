// SPDX-License-Identifier: Apache-2.0
// Runs with a known problem: the answer names it.
#include <cmath>

#include "tests/program/program.h"
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

class KnownRun : public SharedData {
 protected:
  [[nodiscard]] program::Analysis answer(const std::string& name) const {
    for (const TracedRun& run : runs(root))
      if (run.name == name) return program::analyze(run.files);
    return {};
  }
};

// The text before the first table.
std::string first_screen(const std::string& printed) {
  return printed.substr(0, printed.find("\nRanks "));
}

std::string on_one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

// Over all matched collectives: the number with `rank` as the last to arrive, and their total.
std::pair<long, long> last_arrivals(const nlohmann::json& answer, int rank) {
  long last = 0;
  long matched = 0;
  for (const nlohmann::json& row : answer.at("collectives")) {
    const long count = row.at("matched");
    matched += count;
    if (row.at("last_rank") == rank)
      last += std::lround(row.at("last_rank_share").get<double>() * static_cast<double>(count));
  }
  return {last, matched};
}

TEST_F(KnownRun, WhereARankSleepsNamesItTheGapAndWhatOthersLose) {
  const auto [outcome, json] = answer("torchrec-sleep_pl_dense_after_backward_2");
  ASSERT_EQ(outcome.exit_code, 0);
  const std::string screen = on_one_line(first_screen(outcome.printed));
  EXPECT_NE(screen.find("The host of rank 2 needs"), std::string::npos) << screen;
  EXPECT_EQ(json.at("answer").at("verdict").at("kind"), "late_host");
  EXPECT_EQ(json.at("answer").at("verdict").at("ranks"), std::vector<int>{2});
  const auto& worst = json.at("stragglers").at(0);
  EXPECT_EQ(worst.at("rank"), 2);
  EXPECT_TRUE(worst.at("significant"));
  EXPECT_EQ(worst.at("persistence"), 1.0);
  // The waits of the others are the same second, seen from their side.
  for (const auto& rank : json.at("ranks")) {
    const std::int64_t wait = rank.at("budget_ns").at("comm_exposed_wait");
    const std::int64_t host = rank.at("budget_ns").at("idle_host");
    if (rank.at("rank") == 2) {
      EXPECT_GT(host, 3'000'000'000);
      EXPECT_LT(wait, 10'000'000);
    } else {
      EXPECT_GT(wait, 2'980'000'000);
      EXPECT_LT(host, 200'000'000);
    }
  }
}

TEST_F(KnownRun, OfTwoTensorParallelRanksHasTheFirstLastInAllThirteen) {
  const auto [outcome, json] = answer("megatron-tp2-et");
  ASSERT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(last_arrivals(json, 0), std::pair(13L, 13L));
  // One of them is no later than the clock uncertainty, so it does not count against the rank.
  const auto& worst = json.at("stragglers").at(0);
  EXPECT_EQ(worst.at("rank"), 0);
  EXPECT_EQ(worst.at("collectives"), 13);
  EXPECT_GE(worst.at("last_count"), 12);
}

TEST_F(KnownRun, OfResnet18HasRankOneLastInAllTwelve) {
  const auto [outcome, json] = answer("torchrec-resnet18");
  ASSERT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(last_arrivals(json, 1), std::pair(12L, 12L));
  EXPECT_EQ(json.at("stragglers").at(0).at("rank"), 1);
  EXPECT_EQ(json.at("stragglers").at(0).at("last_count"), 12);
}

TEST_F(KnownRun, OfEightDlrmRanksHasTheLastOneLastInFiveOfEight) {
  const auto [outcome, json] = answer("param-dlrm");
  ASSERT_EQ(outcome.exit_code, 0);
  const auto& worst = json.at("stragglers").at(0);
  EXPECT_EQ(worst.at("rank"), 7);
  EXPECT_EQ(worst.at("last_count"), 5);
  EXPECT_EQ(worst.at("collectives"), 8);
}

}  // namespace
}  // namespace stepscope::shared
