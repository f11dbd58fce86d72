// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/message_latency.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(MessageLatency, IsTheInterceptOfTheSmallestAndTheLargestSize) {
  EXPECT_EQ(latency_of({{1000, Ns{12'000}}, {2000, Ns{19'000}}, {11'000, Ns{32'000}}}), Ns{10'000});
}

TEST(MessageLatency, IsUnknownFromOneSizeOrSizesThatAreAlike) {
  EXPECT_EQ(latency_of({}), std::nullopt);
  EXPECT_EQ(latency_of({{1000, Ns{12'000}}}), std::nullopt);
  EXPECT_EQ(latency_of({{1000, Ns{12'000}}, {1999, Ns{12'001}}}), std::nullopt);
}

TEST(MessageLatency, IsNeverNegativeAndNeverMoreThanTheSmallestMessageTakes) {
  EXPECT_EQ(latency_of({{1000, Ns{1000}}, {4000, Ns{9000}}}), Ns{0});
  EXPECT_EQ(latency_of({{1000, Ns{9000}}, {4000, Ns{1000}}}), Ns{9000});
}

}  // namespace
}  // namespace stepscope
