// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/straggler_job_report.h"

#include <gtest/gtest.h>

#include "stepscope/diagnose/straggler_job_verdict.h"

namespace stepscope {
namespace {

StragglerJob slow_job() {
  StragglerJob job;
  job.meta = {.trial_name = "AR", .dp_size = 2, .pp_size = 2, .tp_size = 4, .world_size = 16};
  job.dp_ranks = {0, 1};
  job.stages = 2;
  job.operations = 1200;
  job.steps = {{.step = 3}, {.step = 9}};
  job.measured = Seconds{4.2};
  job.replayed = Seconds{4};
  job.ideal = Seconds{2};
  job.s = 2;
  job.waste = 0.5;
  job.s_host = 2.1;
  job.launch_slowdown = 1.05;
  job.worst = {4};
  job.m_w = {.removed = Seconds{2}, .added = Seconds{4}, .rem = 1.0, .add = 1.0};
  job.m_s = {.removed = Seconds{4.1}, .added = Seconds{2}, .rem = -0.05, .add = 0.0};
  job.by_operation = {{.name = "backward-compute", .slowdown = 1.6, .steps = {1.6, 1.6}}};
  job.workers = {{.rank = 4, .dp_rank = 1, .stage = 0, .score = 2, .rem = 1.0},
                 {.rank = 0, .score = 1, .rem = 0.0}};
  job.comm_free = {{"pipeline", Seconds{4}, 1.0}};
  job.fwd_bwd_correlation = 0.3;
  job.fwd_variation = 0.02;
  return job;
}

Analysis report_of(const StragglerJob& job) {
  Analysis report;
  report.inputs.resize(1);
  report.inputs[0].file_bytes = 2'100'000;
  report.straggler_job = job;
  report.answer = straggler_verdict(job);
  report.warnings = straggler_warnings(job);
  report.read_seconds = 0.05;
  return report;
}

TEST(StragglerJobReport, NamesTheWorker) {
  const StragglerJob job = slow_job();
  const Analysis report = report_of(job);
  EXPECT_EQ(report.answer.bound_by, BoundBy::straggler);
  EXPECT_EQ(report.answer.sentence,
            "This job runs at 2.00 × its ideal step and wastes 50.0 % of its time: a step takes "
            "4.00 s without launch delays and would take 2.00 s if every operation took its kind's "
            "usual time.");
  EXPECT_EQ(*report.answer.culprit, "one worker explains 100 % of it: rank 4 (DP rank 1, stage 0)");
  const std::string text = straggler_text(report, {.width = 200});
  EXPECT_NE(text.find("AR · 16 GPUs, DP 2 × PP 2 × TP 4 · 2 steps, 3 to 9 · 1.20 k operations · "
                      "2.10 MB read in 50.0 ms\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("One worker explains 100 % of it: rank 4"), std::string::npos);
  EXPECT_NE(text.find("stage 1; 0 % of the loss (M_S -0.050): mended alone it costs 100 ms a step"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("note: M_S is -0.0500 and shown as 0 %"), std::string::npos) << text;
}

TEST(StragglerJobReport, NamesTheLastStageAndUnevenSequences) {
  StragglerJob job = slow_job();
  std::swap(job.m_w, job.m_s);
  job.m_s.rem = 1.2;
  EXPECT_EQ(*straggler_verdict(job).culprit, "the last pipeline stage explains 100 % of it");
  job.fwd_bwd_correlation = 0.95;
  job.m_s.rem = 0.2;
  EXPECT_EQ(*straggler_verdict(job).culprit,
            "forward and backward of a microbatch take longer together (r = 0.95), so sequence "
            "lengths differ");
  job.fwd_bwd_correlation = std::nullopt;
  EXPECT_EQ(*straggler_verdict(job).culprit,
            "no few workers and no last stage explain it: the worst 1 worker 0 %, the last stage "
            "20 %");
}

TEST(StragglerJobReport, SaysPlainlyThatThereIsNone) {
  StragglerJob job = slow_job();
  job.s = 1.04;
  const JobVerdict answer = straggler_verdict(job);
  EXPECT_EQ(answer.bound_by, BoundBy::unexplained);
  EXPECT_TRUE(answer.sentence.starts_with(
      "This job runs at 1.04 × its ideal step and has no straggler to speak of: "));
  EXPECT_FALSE(answer.culprit);
}

TEST(StragglerJobReport, SaysWhatIsDoubtful) {
  StragglerJob job = slow_job();
  job.m_s.rem = 0.5;
  job.replay_error = 0.04;
  job.steps.resize(1);
  job.left_out = {"step 2 is left out"};
  job.notes = {{"sends without a receive", 3}};
  job.meta.pp_size = 4;
  EXPECT_EQ(straggler_warnings(job),
            (std::vector<std::string>{
                "the replay with launch delays differs from the measured steps by 4.0 %: what was "
                "recorded does not fit the dependencies",
                "one step only: whether it is typical cannot be told", "step 2 is left out",
                "sends without a receive: 3", "the meta file says 4 stages, the rows have 2"}));
}

TEST(StragglerJobReport, HasNullWhereThereIsNothingToExplain) {
  StragglerJob job = slow_job();
  job.m_w.rem = std::nullopt;
  const Json json = straggler_job_json(job);
  EXPECT_TRUE(json["m_w"].is_null());
  EXPECT_TRUE(json["m_w_share"].is_null());
  EXPECT_EQ(json["m_s"], -0.05);
  EXPECT_EQ(json["m_s_share"], 0.0);
  EXPECT_EQ(json["replayed_step_ns"], 4e9);
  EXPECT_TRUE(json["sizes"]["vpp"].is_null());
}

}  // namespace
}  // namespace stepscope
