// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/job_shape.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

struct TestLookup {
  std::string_view dims;  // of table and indices
  std::int64_t start = 0;
  std::string_view name = "aten::embedding";
};

// A rank with steps of 100 ns.
TestRank rank_with(const std::vector<TestLookup>& lookups, int steps) {
  TestRank rank;
  for (int s = 0; s < steps; ++s)
    rank.rows().step("ProfilerStep#" + std::to_string(s), s * 100, s * 100 + 100);
  for (const TestLookup& l : lookups)
    rank.op_with_inputs(Category::cpu_op, l.name, l.start, l.start + 5, l.dims, "");
  return rank;
}

std::optional<TokenLookups> lookups_of(std::vector<TestRank> ranks) {
  const TestJob job(std::move(ranks));
  return token_lookups(job.views());
}

template <class... Rank>
std::vector<TestRank> these(Rank... rank) {
  std::vector<TestRank> ranks;
  (ranks.push_back(std::move(rank)), ...);
  return ranks;
}

// GPT-2 looks up positions, too, and a lookup has gradients.
TEST(JobShape, TheLargestTableIsThatOfTheTokens) {
  std::vector<TestLookup> rows;
  for (const std::int64_t start : {0, 20, 100, 120}) {
    rows.push_back({"[[50304, 768], [4, 1024], [], [], []]", start});
    rows.push_back({"[[1024, 768], [1, 1024], [], [], []]", start + 6});
    rows.push_back({"[[4, 1024, 768], [4, 1024]]", start + 12, "aten::embedding_dense_backward"});
  }
  const auto found = lookups_of(these(rank_with(rows, 2)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sequences, 4);
  EXPECT_EQ(found->tokens, 1024);
  EXPECT_EQ(found->calls, 2);
}

// Only the first stage of a pipeline has lookups, and one step may have one more.
TEST(JobShape, LookupsAreThoseOfTheUsualStep) {
  std::vector<TestLookup> rows;
  for (const std::int64_t start : {0, 20, 40, 100, 120, 200, 220})
    rows.push_back({"[[32000, 64], [2, 512]]", start});
  rows.push_back({"[[32000, 64], [2, 512]]", 700});  // of no step
  const auto found = lookups_of(these(rank_with({}, 3), rank_with(rows, 3)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->calls, 2);
}

// Batches of texts of other lengths have the same number of lookups.
TEST(JobShape, LookupsOfOtherLengthsCount) {
  const auto found = lookups_of(these(rank_with({{"[[32000, 64], [2, 512]]", 0},
                                                 {"[[32000, 64], [2, 480]]", 20},
                                                 {"[[32000, 64], [2, 512]]", 100},
                                                 {"[[32000, 64], [2, 512]]", 120}},
                                                2)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->calls, 2);
  EXPECT_EQ(found->tokens, 512);
}

TEST(JobShape, PackedTokensAndRowsWithoutShapesTellNothing) {
  EXPECT_FALSE(lookups_of(these(rank_with({{"[[32000, 64], [2048]]", 0}}, 1))));
  EXPECT_FALSE(lookups_of(these(rank_with({{"", 0}}, 1))));
  EXPECT_FALSE(lookups_of(these(rank_with({}, 1))));
}

// Two ranks of a job of four; the groups of two are those of tensor parallelism.
TEST(JobShape, DegreesAreThoseOfTheGroups) {
  std::vector<TestRank> ranks;
  for (int r = 0; r < 4; ++r) {
    TestRank rank;
    rank.rows().step("ProfilerStep#0", 0, 1000);
    rank.all_reduce(100, 200,
                    {.group = r < 2 ? "a" : "b",
                     .ranks = r < 2 ? "[0, 1]" : "[2, 3]",
                     .size = 2,
                     .seq = 1,
                     .description = "TENSOR_MODEL_PARALLEL_GROUP"});
    rank.all_reduce(300, 400,
                    {.group = r % 2 == 0 ? "c" : "d",
                     .ranks = r % 2 == 0 ? "[0, 2]" : "[1, 3]",
                     .size = 2,
                     .seq = 1,
                     .description = "DATA_PARALLEL_GROUP"});
    ranks.push_back(std::move(rank));
  }
  const TestJob job(std::move(ranks));
  const Collectives collectives = analyze_collectives(job.views());
  const TokenLookups lookups{.sequences = 8, .tokens = 128, .calls = 3};
  const JobShape shape = recorded_shape(collectives, nullptr, lookups, std::nullopt);
  EXPECT_EQ(shape.tp, 2);
  EXPECT_EQ(shape.dp, 2);
  EXPECT_EQ(shape.pp, 1);
  EXPECT_EQ(shape.micro_batch, 8);
  EXPECT_EQ(shape.micro_batches, 3);
  const std::vector<bool> data = data_groups(collectives, shape);
  for (std::size_t g = 0; g < data.size(); ++g)
    EXPECT_EQ(data[g], collectives.dimension_of[g] == Dimension::dp) << g;
}

}  // namespace
}  // namespace stepscope
