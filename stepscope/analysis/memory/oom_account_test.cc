// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/memory/oom_account.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

Bytes gib(std::int64_t n) { return Bytes{n << 30}; }

OomMessage message(std::int64_t request, std::int64_t free, std::int64_t allocated,
                   std::int64_t unallocated) {
  return {.request = gib(request),
          .total = gib(80),
          .free = gib(free),
          .allocated = gib(allocated),
          .unallocated = gib(unallocated)};
}

TEST(OomAccount, SaysWhatWouldHaveBeenEnough) {
  EXPECT_EQ(account_oom(message(36, 26, 12, 40)).cause, OomCause::fragmented);
  const OomAccount full = account_oom(message(10, 2, 70, 3));
  EXPECT_EQ(full.cause, OomCause::missing);
  EXPECT_EQ(full.missing, gib(5));
  EXPECT_EQ(account_oom(message(90, 70, 5, 1)).cause, OomCause::too_large);
  EXPECT_EQ(account_oom(message(3, 4, 70, 3)).cause, OomCause::free_enough);
  OomMessage limited = message(10, 50, 15, 1);
  limited.allowed = gib(20);
  EXPECT_EQ(account_oom(limited).cause, OomCause::limited);
  EXPECT_EQ(account_oom({}).cause, OomCause::unknown);
}

TEST(OomAccount, SaysTheLeastThatIsMissingWhereWhatIsFreeIsNotTold) {
  OomMessage m = message(10, 0, 75, 1);
  m.free.reset();
  const OomAccount full = account_oom(m);
  EXPECT_EQ(full.cause, OomCause::missing);
  EXPECT_EQ(full.missing, gib(5));
  EXPECT_TRUE(full.at_least);
  m.request = gib(4);
  EXPECT_EQ(account_oom(m).cause, OomCause::unknown);
  m.at_once = gib(2);
  EXPECT_EQ(account_oom(m).cause, OomCause::block);
}

TEST(OomAccount, OfXlaKnowsProgramsAndPieces) {
  const OomAccount program = account_oom({.backend = "XLA", .total = gib(15), .needed = gib(30)});
  EXPECT_EQ(program.cause, OomCause::program);
  EXPECT_EQ(program.missing, gib(15));
  EXPECT_EQ(account_oom({.backend = "XLA", .request = gib(1), .free = gib(2)}).cause,
            OomCause::fragmented);
  EXPECT_EQ(account_oom({.backend = "XLA", .request = gib(3), .free = gib(2)}).missing, gib(1));
}

TEST(OomAccount, KnowsItsOwnProcessAmongOthers) {
  OomMessage m = message(10, 2, 40, 3);
  m.processes = {{.pid = 1, .bytes = gib(44)}, {.pid = 2, .bytes = gib(30)}};
  const OomAccount shared = account_oom(m);
  EXPECT_EQ(shared.cause, OomCause::other_process);
  EXPECT_EQ(shared.others, gib(30));
  EXPECT_EQ(shared.other_pid, 2);
  m.processes.pop_back();
  EXPECT_EQ(account_oom(m).cause, OomCause::missing);  // it is alone
  m.processes.push_back({.pid = 3, .bytes = Bytes{300 << 20}});
  EXPECT_EQ(account_oom(m).cause, OomCause::missing);  // a desktop is no reason
}

}  // namespace
}  // namespace stepscope
