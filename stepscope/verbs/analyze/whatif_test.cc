// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/whatif.h"

#include <gtest/gtest.h>

#include "stepscope/say/say.h"

namespace stepscope {
namespace {

TEST(WhatIfNames, WhatTheTracesLackIsRefusedWithWhatTheyHave) {
  const RecordedNames names{.ranks = {0, 1, 3},
                            .kinds = {CollectiveKind::all_reduce, CollectiveKind::broadcast},
                            .kernel_classes = {NameClass::matmul}};
  const auto why = [&](const char* text) {
    return say(why_not_recorded(*parse_scenario(text), names));
  };
  EXPECT_EQ(why("rank_as_peers@2"), "rank 2 is not in the traces, which have ranks 0, 1, 3");
  EXPECT_EQ(why("data_free@99"), "rank 99 is not in the traces, which have ranks 0, 1, 3");
  EXPECT_EQ(why("bandwidth:all_to_all:2"),
            "the traces have no all_to_all collective; they have all_reduce and broadcast");
  EXPECT_EQ(why("compute:attention:2"), "the traces have no attention compute; they have matmul");
  for (const char* text : {"rank_as_peers@3", "bandwidth:2", "latency:broadcast:2", "compute:2",
                           "compute:matmul:2@1", "bucket:25MB"})
    EXPECT_EQ(why(text), "") << text;
  EXPECT_EQ(say(why_not_recorded(*parse_scenario("rank_as_peers@4"), {.ranks = {4}})),
            "rank 4 has no peer in the traces");
  EXPECT_EQ(say(why_not_recorded(*parse_scenario("communication_free:all_gather"), {})),
            "the traces have no all_gather collective and no other collective");
}

}  // namespace
}  // namespace stepscope
