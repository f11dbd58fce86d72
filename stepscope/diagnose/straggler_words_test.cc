// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/straggler_words.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "stepscope/say/say.h"

namespace stepscope {
namespace {

StragglerCause gemm() {
  StragglerCause cause;
  cause.doing = LateDoing::more_compute;
  cause.amount = Ns{40'000'000};
  cause.what = "gemm";
  cause.peer = 2;
  cause.in_steps = 4;
  cause.steps = 4;
  return cause;
}

TEST(StragglerWords, ACauseSaysHowMuchOfWhatAndInHowManySteps) {
  StragglerCause cause = gemm();
  EXPECT_EQ(say(cause_in_words(cause)),
            "40.0 ms more compute than rank 2, most of it gemm each step");
  cause.in_steps = 3;
  EXPECT_EQ(say(cause_in_words(cause)),
            "40.0 ms more compute than rank 2, most of it gemm in 3 of 4 steps");
  cause.steps = 1;
  cause.what.clear();
  EXPECT_EQ(say(cause_in_words(cause)), "40.0 ms more compute than rank 2");
}

TEST(StragglerWords, EachThingThatDelaysHasItsWords) {
  const std::vector<std::pair<LateDoing, std::string>> words = {
      {LateDoing::more_loading, "more data loading"},
      {LateDoing::longer_transfer, "longer in transfers of between a and b"},
      {LateDoing::host_gap, "host gap between a and b"},
      {LateDoing::host_work, "host in between a and b"},
      {LateDoing::device_idle, "device without work"},
      {LateDoing::device_late, "device waits for work that is launched"},
      {LateDoing::unrecorded, "nothing recorded"}};
  for (const auto& [doing, expected] : words) {
    StragglerCause cause;
    cause.doing = doing;
    cause.amount = Ns{999'990'000};
    cause.what = "between a and b";
    cause.in_steps = cause.steps = 1;
    EXPECT_EQ(say(cause_in_words(cause)), "1.00 s " + expected);
  }
}

Straggler late(int rank, std::int64_t by, double persistence) {
  Straggler s;
  s.rank = rank;
  s.late_share = static_cast<double>(by) / 100e6;
  s.persistence = persistence;
  s.upper_bound = Ns{by};
  s.steps.resize(1);
  return s;
}

TEST(StragglerWords, ARankThatIsLateByFarIsNamedAndSoAreAFew) {
  std::vector<Straggler> ranks = {late(0, 40'000'000, 1), late(6, 10'000'000, 0)};
  EXPECT_EQ(say(latest_in_words(ranks, 8)),
            "Rank 0 comes up to 40.0 ms (40.0 %) a step later to collectives than its peers, and 1 "
            "step does not show whether that lasts");
  ranks[1] = late(6, 38'000'000, 0);
  EXPECT_EQ(
      say(latest_in_words(ranks, 8)),
      "Ranks 0 and 6 come up to 40.0 ms (40.0 %) a step later to collectives than their peers, "
      "and 1 step does not show whether that lasts");
  EXPECT_TRUE(latest_in_words(ranks, 4).empty()) << "where most are late, none is";
  EXPECT_TRUE(latest_in_words({}, 8).empty());
}

TEST(StragglerWords, ARankThatWaitsIsNoCause) {
  StragglerCause cause = gemm();
  cause.doing = LateDoing::waits_for;
  EXPECT_EQ(say(cause_and_waiting(cause)), "waits 40.0 ms for rank 2 each step");
  cause.in_steps = 3;
  EXPECT_EQ(say(cause_and_waiting(cause)), "waits 40.0 ms for rank 2 in 3 of 4 steps");
}

TEST(StragglerWords, WorkOfTheHostMayHaveNoName) {
  StragglerCause cause = gemm();
  cause.what.clear();
  cause.doing = LateDoing::host_work;
  EXPECT_EQ(say(cause_in_words(cause)), "40.0 ms host work each step");
  cause.doing = LateDoing::host_gap;
  EXPECT_EQ(say(cause_in_words(cause)), "40.0 ms host gap each step");
}

TEST(StragglerWords, ALongKernelNameIsCut) {
  StragglerCause cause = gemm();
  cause.what = std::string(60, 'k') + "tail";
  EXPECT_EQ(say(cause_in_words(cause)), "40.0 ms more compute than rank 2, most of it " +
                                            std::string(60, 'k') + "... each step");
}

TEST(StragglerWords, ACutNameEndsWithAWholeCharacter) {
  StragglerCause cause = gemm();
  cause.what = std::string(59, 'k') + "µtail";
  EXPECT_EQ(say(cause_in_words(cause)), "40.0 ms more compute than rank 2, most of it " +
                                            std::string(59, 'k') + "... each step");
}

TEST(StragglerWords, WhoWaitsIsSaidBehindTheCause) {
  StragglerCause cause = gemm();
  EXPECT_EQ(say(waiting_in_words(cause)), "");
  EXPECT_EQ(say(cause_and_waiting(cause)), say(cause_in_words(cause)));
  cause.waiting = {0};
  cause.wait = Ns{31'240'000};
  cause.collectives = {CollectiveKind::reduce_scatter, CollectiveKind::all_gather};
  EXPECT_EQ(say(waiting_in_words(cause)),
            "rank 0 waits 31.2 ms a step for it in all_gather, reduce_scatter");
  EXPECT_EQ(say(cause_and_waiting(cause)),
            say(cause_in_words(cause)) + "; " + say(waiting_in_words(cause)));
  cause.waiting = {0, 1, 3};
  cause.steps = 1;
  EXPECT_EQ(say(waiting_in_words(cause)),
            "ranks 0, 1, 3 wait 31.2 ms each for it in all_gather, reduce_scatter");
  cause.waiting = {0, 1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(say(waiting_in_words(cause)).starts_with("7 ranks wait 31.2 ms each for it"));
}

}  // namespace
}  // namespace stepscope
