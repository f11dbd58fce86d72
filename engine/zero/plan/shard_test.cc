// SPDX-License-Identifier: Apache-2.0
// Checks C-ZERO-001 for every N up to 600 and some large ones, and for every world size up to 32.
#include "engine/zero/plan/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

namespace stepscope::zero {
namespace {

constexpr std::int64_t most_ranks = 32;

std::vector<OptimizerShard> shards_of(std::int64_t world, std::int64_t total) {
  std::vector<OptimizerShard> shards;
  for (std::int64_t rank = 0; rank < world; ++rank) {
    shards.push_back(*OptimizerShard::for_rank(rank, world, total));
  }
  return shards;
}

// Edges around each world size, primes, and the parameter counts of GPT-2.
std::set<std::int64_t> totals() {
  std::set<std::int64_t> out;
  for (std::int64_t n = 0; n <= 600; ++n) out.insert(n);
  for (const std::int64_t prime : {601, 7919, 104'729, 15'485'863}) out.insert(prime);
  for (std::int64_t world = 1; world <= most_ranks; ++world) {
    for (const std::int64_t n : {world - 1, world, world + 1, 1000 * world, 1000 * world - 1}) {
      out.insert(n);
    }
  }
  for (const std::int64_t n : {124'439'808LL, 1'557'611'200LL, 6'738'415'616LL}) out.insert(n);
  return out;
}

TEST(Shard, CoversEveryParameterOnceInOrderWithSizesWithinOneOfTheFloor) {
  for (const std::int64_t total : totals()) {
    for (std::int64_t world = 1; world <= most_ranks; ++world) {
      const auto shards = shards_of(world, total);
      std::int64_t next = 0;
      for (const OptimizerShard& shard : shards) {
        ASSERT_EQ(shard.param_start, next) << total << " over " << world;
        ASSERT_GE(shard.shard_size(), total / world);
        ASSERT_LE(shard.shard_size(), total / world + 1);
        ASSERT_EQ(shard.total_params, total);
        next = shard.param_end;
      }
      ASSERT_EQ(next, total) << total << " over " << world;
    }
  }
}

TEST(Shard, OwnsWhatItsRangeHoldsAndTheOwnerIsItsInverse) {
  for (std::int64_t total = 0; total < 200; ++total) {
    for (std::int64_t world = 1; world <= most_ranks; ++world) {
      const auto shards = shards_of(world, total);
      for (std::int64_t param = 0; param < total; ++param) {
        const auto owners = std::ranges::count_if(
            shards, [&](const OptimizerShard& shard) { return shard.owns_param(param); });
        ASSERT_EQ(owners, 1) << param << " of " << total << " over " << world;
        const auto owner = static_cast<std::size_t>(*shard_owner(param, world, total));
        ASSERT_TRUE(shards[owner].owns_param(param))
            << param << " of " << total << " over " << world;
      }
      for (const OptimizerShard& shard : shards) {
        ASSERT_FALSE(shard.owns_param(-1));
        ASSERT_FALSE(shard.owns_param(total));
      }
    }
  }
}

TEST(Shard, TenOverThreeAndFewerParametersThanRanks) {
  const auto ten = shards_of(3, 10);
  EXPECT_EQ(ten[0].shard_size(), 4);
  EXPECT_EQ(ten[1].shard_size(), 3);
  EXPECT_EQ(ten[2].shard_size(), 3);
  const auto few = shards_of(4, 2);
  EXPECT_EQ(few[1], (OptimizerShard{1, 4, 1, 2, 2}));
  EXPECT_EQ(few[3].shard_size(), 0);
}

TEST(Shard, TheLastDoesNotAbsorbTheRemainder) {
  // With 5 parameters and 3 shards, that rule would make the last shard 3 long; the floor is 1.
  EXPECT_EQ(OptimizerShard::for_rank(2, 3, 5)->shard_size(), 1);
  std::int64_t against = 0;
  for (std::int64_t total = 0; total < 600; ++total) {
    for (std::int64_t world = 1; world <= most_ranks; ++world) against += total % world > 1 ? 1 : 0;
  }
  EXPECT_GT(against, 0);  // cases in which sentence and contract disagree
}

TEST(Shard, CountsTrueBytesOfOptimizerAndPrecision) {
  const OptimizerShard half = *OptimizerShard::for_rank(0, 2, 1000);
  EXPECT_EQ(half.shard_memory_bytes(), Bytes{4000});
  EXPECT_EQ(half.full_memory_bytes(), Bytes{8000});
  EXPECT_EQ(half.shard_memory_bytes(adamw_bytes(ElementType::f32)), Bytes{4000});
  EXPECT_EQ(half.shard_memory_bytes(adamw_bytes(ElementType::bf16)), Bytes{6000});
  EXPECT_EQ(half.full_memory_bytes(adamw_bytes(ElementType::bf16)), Bytes{12000});
  EXPECT_DOUBLE_EQ(half.memory_savings(), 0.5);
  EXPECT_DOUBLE_EQ(OptimizerShard::for_rank(0, 3, 10)->memory_savings(), 0.6);
  EXPECT_DOUBLE_EQ(OptimizerShard::for_rank(2, 3, 10)->memory_savings(), 0.7);
  EXPECT_DOUBLE_EQ(OptimizerShard::for_rank(0, 1, 10)->memory_savings(), 0.0);
  EXPECT_DOUBLE_EQ(OptimizerShard::for_rank(0, 4, 0)->memory_savings(), 0.0);
}

TEST(Shard, ShardBytesOfAllRanksAreTheFullBytes) {
  for (const std::int64_t total : {0, 1, 31, 997, 124'439'808}) {
    for (std::int64_t world = 1; world <= most_ranks; ++world) {
      const OptimizerBytes bytes = adamw_bytes(ElementType::bf16);
      Bytes sum{};
      for (const auto& shard : shards_of(world, total)) sum += shard.shard_memory_bytes(bytes);
      ASSERT_EQ(sum, OptimizerShard::for_rank(0, world, total)->full_memory_bytes(bytes));
    }
  }
}

// A caller may pass on what a launcher or a user gave it.
TEST(Shard, ARankOutsideItsGroupIsAnError) {
  for (const auto& [rank, world, total, words] :
       {std::tuple(4, 4, 9, "rank 4 of 4: ranks are 0 to 3"),
        std::tuple(-1, 4, 9, "rank -1 of 4: ranks are 0 to 3"),
        std::tuple(0, 0, 9, "a world size of 0: a group has a rank or more"),
        std::tuple(0, 1, -1, "-1 parameters: a number of parameters is not negative")}) {
    const auto shard = OptimizerShard::for_rank(rank, world, total);
    ASSERT_FALSE(shard);
    EXPECT_EQ(shard.error().what, words);
    EXPECT_EQ(shard.error().code, ErrorCode::refused);
  }
  EXPECT_FALSE(shard_owner(9, 4, 9));
  EXPECT_FALSE(shard_owner(-1, 4, 9));
  EXPECT_FALSE(shard_owner(0, 0, 9));
}

TEST(ShardLayout, BlocksAreEqualAlignedAndHoldEveryParameterOnce) {
  for (std::int64_t total = 0; total < 200; ++total) {
    for (std::int64_t world = 1; world <= most_ranks; ++world) {
      const ShardLayout layout = shard_layout(world, total);
      ASSERT_EQ(layout.stride % 16, 0);
      ASSERT_GE(layout.stride, layout.shard(0).shard_size());
      ASSERT_LT(layout.stride, layout.shard(0).shard_size() + 16);
      std::int64_t last = -1;
      for (std::int64_t param = 0; param < total; ++param) {
        const std::int64_t position = layout.position(param);
        ASSERT_GT(position, last);
        ASSERT_LT(position, layout.padded_elements());
        ASSERT_EQ(position / layout.stride, *shard_owner(param, world, total));
        last = position;
      }
      ASSERT_EQ(layout.contiguous(), total == layout.padded_elements());
    }
  }
  EXPECT_TRUE(shard_layout(2, 64).contiguous());
  EXPECT_FALSE(shard_layout(2, 65).contiguous());
  EXPECT_EQ(shard_layout(4, 0).padded_elements(), 0);
}

}  // namespace
}  // namespace stepscope::zero
