// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/straggler_job_verdict.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

TEST(StragglerVerdict, NamesTheWorker) {
  const JobVerdict answer = straggler_verdict(slow_job());
  EXPECT_EQ(answer.bound_by, BoundBy::straggler);
  EXPECT_EQ(say_stopped(answer.sentence),
            "This job runs at 2.00 × its ideal step and wastes 50.0 % of its time: a step takes "
            "4.00 s without launch delays and would take 2.00 s if every operation took its kind's "
            "usual time.");
  EXPECT_EQ(say(answer.culprit), "one worker explains 100 % of it: rank 4 (DP rank 1, stage 0)");
}

TEST(StragglerVerdict, NamesTheLastStageAndUnevenSequences) {
  StragglerJob job = slow_job();
  std::swap(job.m_w, job.m_s);
  job.m_s.rem = 1.2;
  EXPECT_EQ(say(straggler_verdict(job).culprit), "the last pipeline stage explains 100 % of it");
  job.fwd_bwd_correlation = 0.95;
  job.m_s.rem = 0.2;
  EXPECT_EQ(say(straggler_verdict(job).culprit),
            "forward and backward of a microbatch take longer together (r = 0.95), so sequence "
            "lengths differ");
  job.fwd_bwd_correlation = std::nullopt;
  EXPECT_EQ(say(straggler_verdict(job).culprit),
            "no few workers and no last stage explain it: the worst 1 worker 0 %, the last stage "
            "20 %");
}

TEST(StragglerVerdict, SaysPlainlyThatThereIsNone) {
  StragglerJob job = slow_job();
  job.s = 1.04;
  const JobVerdict answer = straggler_verdict(job);
  EXPECT_EQ(answer.bound_by, BoundBy::unexplained);
  EXPECT_TRUE(say(answer.sentence)
                  .starts_with(
                      "This job runs at 1.04 × its ideal step and has no straggler to speak of: "));
  EXPECT_TRUE(answer.culprit.empty());
}

TEST(StragglerVerdict, SaysWhatIsDoubtful) {
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

}  // namespace
}  // namespace stepscope
