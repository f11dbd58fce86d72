// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/message_end.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

// Rank 0 sends and goes on, rank 1 waits for each message, which takes 1 ms. In the last round rank
// 1 is late to collect it.
std::vector<GlooRank> rounds(std::int64_t count, std::int64_t late) {
  std::vector<GlooRank> ranks(2);
  for (GlooRank& rank : ranks) rank.group("0", "default_pg", {0, 1});
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t at = (k + 1) * 100 * ms;
    ranks[0].message({.peer = 1, .asked = at, .collected = at + 2 * ms});
    ranks[0].rows().op("aten::mm", at + 3, at + 2 * ms - 5);
    ranks[1].message({.sends = false,
                      .peer = 0,
                      .asked = at - 20 * ms,
                      .collected = at + ms + (k + 1 == count ? late : 0)});
  }
  return ranks;
}

Ns last_end(std::int64_t count) {
  const TestJob job = gloo_job(rounds(count, 30 * ms));
  const Collectives found = analyze_collectives(job.views());
  const CollectiveCall& call = found.matches.ranks[1].calls.back();
  const CallTime& time = found.times.by_view[1].back();
  EXPECT_TRUE(time.split);
  EXPECT_EQ(wait_of(call, time), Ns{20 * ms});
  return call.end;
}

TEST(MessageEnd, AMessageThatIsCollectedLateHadComeBefore) {
  EXPECT_EQ(last_end(20), Ns{20 * 100 * ms + ms});
}

TEST(MessageEnd, WhereNobodyWaitsTheShorterTimesTell) {
  std::vector<GlooRank> ranks(2);
  for (GlooRank& rank : ranks) rank.group("0", "default_pg", {0, 1});
  for (std::int64_t k = 0; k < 12; ++k) {
    const std::int64_t at = (k + 1) * 100 * ms;
    const std::int64_t busy = k % 2 == 0 ? 2 * ms : 40 * ms;  // until it collects the message
    for (int r = 0; r < 2; ++r) {
      GlooRank& rank = ranks[static_cast<std::size_t>(r)];
      rank.message({.sends = r == 0, .peer = 1 - r, .asked = at, .collected = at + busy + 10});
      rank.rows().op("aten::mm", at + 3, at + busy);
    }
  }
  const TestJob job = gloo_job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  EXPECT_EQ(found.matches.ranks[1].calls[1].end, Ns{200 * ms + 2 * ms + 10});
}

TEST(MessageEnd, WithFewMessagesTheRowsEndIsKept) {
  EXPECT_EQ(last_end(4), Ns{4 * 100 * ms + 31 * ms});
}

TEST(MessageEnd, AMessageBeginsWithItsOperator) {
  const TestJob job = gloo_job(rounds(1, 0));
  const RankCalls calls = find_collective_calls(job.views()[0]);
  EXPECT_EQ(calls.calls[0].start, Ns{100 * ms});
}

}  // namespace
}  // namespace stepscope
