// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/job_layout.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/analysis/runs/job_test_pipeline.h"

namespace stepscope {
namespace {

test::PipelineJob job_of(std::vector<std::int64_t> steps) {
  test::PipelineJob job{.dp = 3, .stages = 2, .batches = 2, .steps = std::move(steps)};
  job.lasts = [](JobOp, std::int64_t, int, int, int) { return 0.1; };
  return job;
}

template <class Drop>
JobOperations without(const JobOperations& from, Drop drop) {
  JobOperations t;
  for (std::size_t r = 0; r < from.size(); ++r) {
    if (drop(r)) continue;
    t.dp_rank.push_back(from.dp_rank[r]);
    t.stage.push_back(from.stage[r]);
    t.rank.push_back(from.rank[r]);
    t.step.push_back(from.step[r]);
    t.op.push_back(from.op[r]);
    t.start.push_back(from.start[r]);
    t.duration.push_back(from.duration[r]);
    t.seq_id.push_back(from.seq_id[r]);
    t.mc.push_back(from.mc[r]);
    t.mb_id.push_back(from.mb_id[r]);
    t.gmc.push_back(from.gmc[r]);
  }
  return t;
}

TEST(JobLayout, FindsEachRow) {
  const JobOperations table = test::table_of(job_of({4, 9}));
  const auto layout = lay_out(table);
  ASSERT_TRUE(layout) << layout.error().message();
  EXPECT_EQ(layout->steps, (std::vector<std::int64_t>{4, 9}));
  EXPECT_EQ(layout->dp_ranks, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(layout->stages, 2);
  EXPECT_EQ(layout->row.size(), table.size());
  EXPECT_TRUE(layout->left_out.empty());
  for (std::size_t cell = 0; cell < layout->cells(); ++cell)
    for (std::size_t s = 0; s < 2; ++s) {
      const std::uint32_t r = layout->row_of(cell, s);
      const LaidOp& op = layout->ops[cell % layout->ops.size()];
      EXPECT_EQ(table.op[r], op.op);
      EXPECT_EQ(table.stage[r], op.stage);
      EXPECT_EQ(table.seq_id[r], op.seq_id);
      EXPECT_EQ(table.step[r], layout->steps[s]);
      EXPECT_EQ(table.dp_rank[r], layout->dp_ranks[cell / layout->ops.size()]);
    }
}

TEST(JobLayout, LeavesOutAStepThatDiffers) {
  const JobOperations all = test::table_of(job_of({1, 2, 3}));
  const JobOperations table = without(all, [&](std::size_t r) {
    return all.step[r] == 2 && all.dp_rank[r] == 1 && all.op[r] == JobOp::forward_send &&
           all.seq_id[r] == 1;
  });
  const auto layout = lay_out(table);
  ASSERT_TRUE(layout) << layout.error().message();
  EXPECT_EQ(layout->steps, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(layout->left_out,
            std::vector<std::string>{
                "step 2 is left out: its DP rank 1 lacks forward-send 1 of stage 0"});
  EXPECT_TRUE(analyze_straggler_job(table, {}));
}

TEST(JobLayout, LeavesOutADpRankThatLacksAStage) {
  const JobOperations all = test::table_of(job_of({1, 2, 3}));
  const JobOperations table =
      without(all, [&](std::size_t r) { return all.dp_rank[r] == 2 && all.stage[r] == 1; });
  const auto layout = lay_out(table);
  ASSERT_TRUE(layout) << layout.error().message();
  EXPECT_EQ(layout->dp_ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(layout->steps.size(), 3U);
  ASSERT_EQ(layout->left_out.size(), 1U);
  EXPECT_NE(layout->left_out[0].find(
                "DP rank 2 is left out: in step 1 it lacks forward-compute 0 of stage 1 and "),
            std::string::npos)
      << layout->left_out[0];
  const auto found = analyze_straggler_job(table, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->workers.size(), 4U);
}

TEST(JobLayout, RefusesWhatCannotBeLaidOut) {
  EXPECT_FALSE(lay_out({}));
  const JobOperations one = test::table_of(job_of({1}));
  JobOperations twice = one;
  twice.seq_id.assign(one.size(), 0);
  const auto layout = lay_out(twice);
  ASSERT_FALSE(layout);
  EXPECT_NE(layout.error().what.find("stands twice in step 1"), std::string::npos);
  // Every DP rank has another list: one of them is kept.
  const JobOperations uneven = without(one, [&](std::size_t r) {
    return one.op[r] == JobOp::garbage_collection && one.stage[r] < one.dp_rank[r];
  });
  const auto kept = lay_out(uneven);
  ASSERT_TRUE(kept) << kept.error().message();
  EXPECT_EQ(kept->dp_ranks, std::vector<std::int32_t>{0});
  EXPECT_EQ(kept->left_out.size(), 2U);
}

TEST(JobSchedule, SaysWhatHasNoPeer) {
  const JobOperations all = test::table_of(job_of({1}));
  const JobOperations table = without(
      all, [&](std::size_t r) { return all.op[r] == JobOp::forward_recv && all.seq_id[r] == 1; });
  const auto found = analyze_straggler_job(table, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->notes.count("sends without a receive"), 1U);
}

}  // namespace
}  // namespace stepscope
