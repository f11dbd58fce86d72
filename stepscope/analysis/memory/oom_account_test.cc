// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/memory/oom_account.h"

#include <gtest/gtest.h>

#include <vector>

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
  const OomAccount program =
      account_oom({.framework = OomFramework::xla, .total = gib(15), .needed = gib(30)});
  EXPECT_EQ(program.cause, OomCause::program);
  EXPECT_EQ(program.missing, gib(15));
  EXPECT_EQ(account_oom({.framework = OomFramework::xla, .request = gib(1), .free = gib(2)}).cause,
            OomCause::fragmented);
  EXPECT_EQ(
      account_oom({.framework = OomFramework::xla, .request = gib(3), .free = gib(2)}).missing,
      gib(1));
}

TEST(OomAccount, KnowsItsOwnProcessAmongOthers) {
  OomMessage m = message(10, 2, 40, 3);
  m.processes = {{.pid = 1, .bytes = gib(44)}, {.pid = 2, .bytes = gib(30)}};
  const OomAccount shared = account_oom(m);
  EXPECT_EQ(shared.cause, OomCause::other_process);
  EXPECT_EQ(shared.others, gib(30));
  EXPECT_EQ(shared.other_pid, 2);
  m = message(10, 2, 71, 3);
  m.processes = {{.pid = 1, .bytes = gib(75)}};
  EXPECT_EQ(account_oom(m).cause, OomCause::missing);  // it is alone
  m.processes.push_back({.pid = 3, .bytes = Bytes{300 << 20}});
  EXPECT_EQ(account_oom(m).cause, OomCause::missing);  // a desktop is no reason
}

// In a container all processes hold "0 bytes".
TEST(OomAccount, FindsWhatNoAllocatorHolds) {
  OomMessage m = message(3, 1, 10, 1);
  m.own = Bytes{0};
  m.processes = {{.pid = 5, .bytes = Bytes{0}}};
  const OomAccount full = account_oom(m);
  EXPECT_EQ(full.cause, OomCause::outside);
  EXPECT_EQ(full.outside, gib(68));
  EXPECT_EQ(full.reserved, gib(11));
  EXPECT_EQ(full.used, gib(10));
  m.own = gib(12);  // it is known, and the rest is not of this process
  EXPECT_EQ(account_oom(m).outside, gib(67));
  m.own = gib(79);  // it is of this process
  EXPECT_EQ(account_oom(m).cause, OomCause::missing);
  m.own.reset();
  m.allocated = gib(74);
  EXPECT_EQ(account_oom(m).cause, OomCause::missing);  // a context may be all of the rest
  EXPECT_EQ(account_oom(m).outside, Bytes{0});
}

TEST(OomAccount, KnowsALimitByItsRoundedSize) {
  const auto mib = [](std::int64_t n) { return Bytes{n << 20}; };
  OomMessage m{.request = mib(2), .total = gib(250), .free = gib(240)};
  m.allocated = mib(1017);
  m.unallocated = mib(55);
  m.allowed = Bytes{1127428915};  // "1.05 GiB"
  EXPECT_EQ(account_oom(m).cause, OomCause::limited);
  m.allowed = gib(2);
  EXPECT_EQ(account_oom(m).cause, OomCause::free_enough);
}

TEST(OomAccount, KnowsTheLimitOfMetalByAllThatItCounts) {
  OomMessage m{.framework = OomFramework::pytorch, .backend = "MPS", .request = gib(1)};
  m.allowed = gib(20);
  m.allocated = gib(8);
  m.elsewhere = gib(14);
  const OomAccount over = account_oom(m);
  EXPECT_EQ(over.cause, OomCause::limited);
  EXPECT_EQ(over.missing, gib(3));
  m.elsewhere = gib(2);
  EXPECT_EQ(account_oom(m).cause, OomCause::unknown);
}

TEST(OomAccount, OfAPoolSaysWhetherItsLimitIsReached) {
  OomMessage m{.allocator = "GPU_0_bfc", .request = gib(3)};
  EXPECT_EQ(account_oom(m).cause, OomCause::unknown);
  m.allowed = gib(20);
  m.allocated = gib(18);
  EXPECT_EQ(account_oom(m).cause, OomCause::limited);
  EXPECT_EQ(account_oom(m).missing, gib(1));
  m.allocated = gib(9);
  EXPECT_EQ(account_oom(m).cause, OomCause::fragmented);
}

TEST(OomAccount, ExplainsTheFirstMessageWhoseCauseIsKnown) {
  const OomMessage full = message(10, 2, 70, 3);
  const OomMessage unsized{.request = gib(1)};
  const OomMessage retried{.request = gib(3), .total = gib(80), .free = gib(1), .retried = true};
  EXPECT_EQ(leading_oom(std::vector{retried, unsized, full, full}), 2U);
  EXPECT_EQ(leading_oom(std::vector{retried, unsized}), 1U);
  EXPECT_EQ(leading_oom(std::vector{retried}), 0U);
}

TEST(OomAccount, KnowsMemoryOfTheHostByMoreThanTheDeviceHas) {
  const OomAccount more = account_oom(message(1, 0, 95, 2));
  EXPECT_EQ(more.cause, OomCause::beyond);
  EXPECT_EQ(more.beyond, gib(17));
  EXPECT_EQ(more.missing, Bytes{0});
  EXPECT_EQ(account_oom(message(1, 0, 79, 0)).cause, OomCause::missing);
}

TEST(OomAccount, LeadsWithTheLargestShareWherePiecesWouldBeEnough) {
  OomMessage m = message(2, 1, 10, 4);
  EXPECT_EQ(account_oom(m).cause, OomCause::outside);
  EXPECT_EQ(account_oom(m).outside, gib(65));
  m.processes = {{.pid = 7, .bytes = gib(60)}};
  EXPECT_EQ(account_oom(m).cause, OomCause::other_process);
  EXPECT_EQ(account_oom(message(2, 1, 66, 4)).cause, OomCause::fragmented);
}

TEST(OomAccount, KnowsThatNoOtherProcessHeldTheRoom) {
  EXPECT_TRUE(account_oom(message(1, 50, 25, 4)).alone);
  EXPECT_FALSE(account_oom(message(1, 50, 20, 4)).alone);
  OomMessage m = message(1, 50, 25, 4);
  m.processes = {{.pid = 7, .bytes = gib(1)}};
  EXPECT_FALSE(account_oom(m).alone);
}

TEST(OomAccount, CountsProcessesThatHoldAContextEach) {
  const auto mib = [](std::int64_t n) { return Bytes{n << 20}; };
  OomMessage m = message(2, 1, 74, 2);
  m.own = gib(77);
  m.processes = {{.pid = 5, .bytes = mib(500)}, {.pid = 6, .bytes = mib(510)}};
  EXPECT_EQ(account_oom(m).contexts, 2);
  m.processes.push_back({.pid = 7, .bytes = mib(90)});  // a desktop
  EXPECT_EQ(account_oom(m).contexts, 0);
  m.processes = {{.pid = 5, .bytes = Bytes{0}}, {.pid = 6, .bytes = Bytes{0}}};
  EXPECT_EQ(account_oom(m).contexts, 0);
}

TEST(OomAccount, OfAMappingTellsWhatTheDeviceLacks) {
  const OomAccount mapping =
      account_oom({.request = gib(3), .total = gib(80), .free = gib(1), .retried = true});
  EXPECT_EQ(mapping.cause, OomCause::missing);
  EXPECT_EQ(mapping.missing, gib(2));
  EXPECT_EQ(mapping.used, gib(79));
}

TEST(OomAccount, AFullDeviceMayHaveAsMuchFreeAsIsAskedFor) {
  OomMessage m = message(0, 0, 0, 0);
  m.request = Bytes{2 << 20};
  m.free = Bytes{2 << 20};
  m.allocated = gib(79);
  EXPECT_EQ(account_oom(m).cause, OomCause::missing);
  EXPECT_EQ(account_oom(m).missing, gib(0));
  m.allocated = gib(10);
  EXPECT_EQ(account_oom(m).cause, OomCause::free_enough);
}

TEST(OomAccount, WhatIsNotOnTheDeviceIsNotMemoryOfTheHost) {
  OomMessage m = message(6, 4, 100, 0);
  EXPECT_EQ(account_oom(m).cause, OomCause::beyond);
  m.own = gib(76);
  EXPECT_EQ(account_oom(m).cause, OomCause::missing);
  EXPECT_EQ(account_oom(m).missing, gib(2));
  EXPECT_EQ(account_oom(m).used, gib(76));
}

}  // namespace
}  // namespace stepscope
