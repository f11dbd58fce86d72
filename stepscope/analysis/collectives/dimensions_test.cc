// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/dimensions.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

TEST(Dimensions, AreReadFromTheNamesOfMeshesAndOfMegatron) {
  EXPECT_EQ(dimension_of_name("mesh_tp"), Dimension::tp);
  EXPECT_EQ(dimension_of_name("mesh_fsdp"), Dimension::dp);
  EXPECT_EQ(dimension_of_name("mesh_dp_shard_cp"), Dimension::dp);
  EXPECT_EQ(dimension_of_name("TENSOR_MODEL_PARALLEL_GROUP"), Dimension::tp);
  EXPECT_EQ(dimension_of_name("PIPELINE_MODEL_PARALLEL_GROUP"), Dimension::pp);
  EXPECT_EQ(dimension_of_name("DATA_PARALLEL_GROUP_WITH_CP"), Dimension::dp);
  EXPECT_EQ(dimension_of_name("CONTEXT_PARALLEL_GROUP"), Dimension::cp);
  EXPECT_EQ(dimension_of_name("EXPERT_MODEL_PARALLEL_GROUP"), Dimension::ep);
  EXPECT_EQ(dimension_of_name("EXPERT_DATA_PARALLEL_GROUP"), Dimension::dp);
  EXPECT_EQ(dimension_of_name("sequence_parallel_group"), Dimension::sp);
}

TEST(Dimensions, ProductsAndUntellingNamesStayUnknown) {
  EXPECT_EQ(dimension_of_name("TENSOR_AND_DATA_PARALLEL_GROUP"), std::nullopt);
  EXPECT_EQ(dimension_of_name("EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP"), std::nullopt);
  EXPECT_EQ(dimension_of_name("default_pg"), std::nullopt);
  EXPECT_EQ(dimension_of_name("undefined"), std::nullopt);
  EXPECT_EQ(dimension_of_name(""), std::nullopt);
}

TEST(Dimensions, AUsersFileNamesGroupsOrRanks) {
  const auto groups = parse_group_dimensions("# groups\nmesh x dp\n[0, 1]  tp\n\n7 pp # last\n");
  ASSERT_TRUE(groups) << groups.error().message();
  EXPECT_EQ(groups->size(), 3U);
  EXPECT_EQ(groups->at("mesh x"), Dimension::dp);
  EXPECT_EQ(groups->at("0,1"), Dimension::tp);
  EXPECT_EQ(groups->at("7"), Dimension::pp);
}

TEST(Dimensions, ABadLineOfAUsersFileIsNamed) {
  const auto groups = parse_group_dimensions("a dp\nb sideways\n");
  ASSERT_FALSE(groups);
  EXPECT_NE(groups.error().message().find("line 2"), std::string::npos);
}

std::vector<Dimension> dimensions_of(const TestJob& job, const GroupDimensions& user = {}) {
  return find_dimensions(job.views(), match_collectives(job.views()), user);
}

TestJob two_ranks(std::string_view name, const TestMeta& meta, std::string_view host_row = "") {
  std::vector<TestRank> ranks(2);
  for (int r = 0; r < 2; ++r) {
    TestRank& rank = ranks[static_cast<std::size_t>(r)];
    TestMeta mine = meta;
    if (name == "send") {
      mine.name = r == 0 ? "send" : "recv";
      mine.dst = r == 0 ? 1 : -1;
      mine.src = r == 0 ? -1 : 0;
      rank.comm(send_recv_kernel, 0, 100, mine);
    } else {
      rank.all_reduce(0, 100, mine);
    }
    if (!host_row.empty()) rank.rows().op(host_row, 0, 10);
  }
  return TestJob(std::move(ranks), 4);
}

TEST(Dimensions, AGroupThatOnlySendsAndReceivesIsAPipeline) {
  EXPECT_EQ(dimensions_of(two_ranks("send", {})), std::vector<Dimension>{Dimension::pp});
}

TEST(Dimensions, AGroupWhoseMembersAnswerIsAPipelineEvenWithCollectives) {
  std::vector<GlooRank> ranks(2);
  for (int r = 0; r < 2; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    rank.group("0", "default_pg", {0, 1});
    rank.message({.sends = r == 0, .peer = 1 - r, .asked = 10 - 5 * r, .collected = 20});
    rank.message({.sends = r == 1, .peer = 1 - r, .asked = 40, .collected = 50});
    rank.call({.asked = 60, .start = 62, .end = 90});
  }
  EXPECT_EQ(dimensions_of(gloo_job(std::move(ranks))), std::vector<Dimension>{Dimension::pp});
}

TEST(Dimensions, AGroupWhoseMembersAllSendFirstIsARing) {
  std::vector<GlooRank> ranks(3);
  for (int r = 0; r < 3; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    rank.group("0", "default_pg", {0, 1, 2});
    for (int k = 0; k < 2; ++k) {
      rank.message(
          {.sends = true, .peer = (r + 1) % 3, .asked = 40 * k + 10, .collected = 40 * k + 30});
      rank.message(
          {.sends = false, .peer = (r + 2) % 3, .asked = 40 * k + 13, .collected = 40 * k + 30});
    }
  }
  EXPECT_EQ(dimensions_of(gloo_job(std::move(ranks))), std::vector<Dimension>{Dimension::cp});
}

TEST(Dimensions, TheGroupsThatSizesMakeTellWhatNoNameDoes) {
  const TestJob job = two_ranks("", {});
  const CollectiveMatches found = match_collectives(job.views());
  const CommGroup pair{.name = "tp0", .description = "tp", .ranks = {0, 1}, .size = 2};
  EXPECT_EQ(find_dimensions(job.views(), found, {}, std::vector{pair}),
            std::vector<Dimension>{Dimension::tp});
}

TEST(Dimensions, APartOfTheJobWithoutANameStaysUnknown) {
  EXPECT_EQ(dimensions_of(two_ranks("", {})), std::vector<Dimension>{Dimension::unknown});
}

TEST(Dimensions, TheUsersWordComesFirst) {
  const TestMeta meta{.group = "4", .description = "mesh_tp"};
  EXPECT_EQ(dimensions_of(two_ranks("", meta)), std::vector<Dimension>{Dimension::tp});
  EXPECT_EQ(dimensions_of(two_ranks("", meta), {{"0,1", Dimension::cp}}),
            std::vector<Dimension>{Dimension::cp});
}

TEST(Dimensions, TheWholeJobIsDataParallelOnlyWhereItShows) {
  const TestMeta meta{.ranks = "[0, 1, 2, 3]", .size = 4, .description = "default_pg"};
  EXPECT_EQ(dimensions_of(two_ranks("", meta)), std::vector<Dimension>{Dimension::world});
  EXPECT_EQ(dimensions_of(two_ranks("", meta, "DistributedDataParallel.forward")),
            std::vector<Dimension>{Dimension::dp});
}

TEST(Dimensions, GroupsAreCalledByTheirDescriptionWhereItSaysSomething) {
  EXPECT_EQ(group_label({"3", "mesh_tp", {}, 2}), "mesh_tp");
  EXPECT_EQ(group_label({"3", "undefined", {}, 2}), "3");
  EXPECT_EQ(group_label({"3", "", {}, 2}), "3");
}

}  // namespace
}  // namespace stepscope
