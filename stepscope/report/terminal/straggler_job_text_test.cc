// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/straggler_job_text.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/diagnose/straggler_job_verdict.h"

namespace stepscope {
namespace {

using namespace test;

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

TEST(StragglerJobText, NamesTheWorker) {
  const StragglerJob job = slow_job();
  const Analysis report = report_of(job);
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

}  // namespace
}  // namespace stepscope
