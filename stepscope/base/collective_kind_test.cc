// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/collective_kind.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

using Kind = CollectiveKind;

TEST(CollectiveKind, BusbwFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(*busbw_factor(Kind::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(*busbw_factor(Kind::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(*busbw_factor(Kind::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(*busbw_factor(Kind::all_to_all, 2), 0.5);
  EXPECT_DOUBLE_EQ(*busbw_factor(Kind::broadcast, 8), 1.0);
  EXPECT_DOUBLE_EQ(*busbw_factor(Kind::send_recv, 2), 1.0);
  EXPECT_EQ(busbw_factor(Kind::barrier, 8), std::nullopt);
  EXPECT_DOUBLE_EQ(*busbw_factor(Kind::all_reduce, 1), 0.0);
  EXPECT_EQ(busbw_factor(Kind::all_reduce, -1), std::nullopt);
}

}  // namespace
}  // namespace stepscope
