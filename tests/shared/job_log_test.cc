// SPDX-License-Identifier: Apache-2.0
// Logs of Megatron-DeepSpeed with NCCL's output in between. Compares the step times of both tools
// with counts and sums that regular expressions take from the text.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/log_account.h"
#include "stepscope/fit/log_rates.h"
#include "stepscope/read/log/read_job_log.h"
#include "stepscope/stats/summary.h"
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

// Python: re.findall(r'iteration +(\d+)/ *\d+ \|.*?elapsed time per iteration \(ms\): ([\d.]+) \|
// .*?lm loss: (\S+)'). For DeepSpeed's lines: the differences of their time stamps over the
// differences of their steps.
struct Expected {
  const char* end;  // end of the file's name
  std::size_t records;
  double sum_ms;
  double median_ms;
  double last_loss;
  double deepspeed_sum_ms;  // of single steps, between its lines
};
constexpr Expected logs[] = {
    {"gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4-with-kernel.log", 213, 137705.8, 606.0,
     4.569905, 136856.5},
    {"examples__MoE__log__gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4.log", 12, 7698.1,
     585.1, 8.958018, 6756.6},
    {"3.0e-4-baseline.log", 47, 24710.0, 488.6, 8.101424, 23708.6},
    {"examples__random_ltd__log__gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4.log", 60,
     30937.6, 484.1, 7.516389, 30128.0},
    {"3.0e-4_origin.log", 16, 9922.7, 579.4, 8.663841, 9004.6}};

class JobLogs : public SharedData {
 protected:
  std::string path_of(const std::string& end) const {
    for (const auto& entry :
         std::filesystem::directory_iterator(root / "data" / "logs" / "nccl_megatron_deepspeed"))
      if (entry.path().string().ends_with(end)) return entry.path().string();
    ADD_FAILURE() << "no log ends in " << end;
    return {};
  }
};

double sum_ms(const LogSteps& steps) {
  double sum = 0;
  for (const LogStep& s : steps.steps) sum += s.wall_ns / 1e6;
  return sum;
}

TEST_F(JobLogs, StepTimesAreThoseOfTheText) {
  for (const Expected& e : logs) {
    const auto log = read_job_log(path_of(e.end));
    ASSERT_TRUE(log) << e.end;
    const LogSteps steps = steps_of(*log);
    EXPECT_EQ(steps.tool->name, "megatron") << e.end;
    EXPECT_EQ(steps.steps.size(), e.records) << e.end;
    EXPECT_NEAR(sum_ms(steps), e.sum_ms, 0.05) << e.end;
    EXPECT_EQ(steps.steps.front().iteration, 10);
    EXPECT_EQ(steps.steps.back().iteration, 10 * static_cast<std::int64_t>(e.records));
    EXPECT_EQ(steps.launches, std::vector<std::size_t>{0}) << e.end;
    std::vector<double> ms;
    for (const LogStep& s : steps.steps) {
      ms.push_back(s.wall_ns / 1e6);
      EXPECT_EQ(s.steps, 10);
    }
    EXPECT_NEAR(*median(ms), e.median_ms, 0.051) << e.end;
    const LogAccount account = account_of(*log, steps);
    EXPECT_NEAR(account.loss->last, e.last_loss, 1e-6) << e.end;
    // Its sequences grow over all of its 2130 steps; no level changes suddenly.
    EXPECT_TRUE(account.changes.empty()) << e.end;
    EXPECT_EQ(account.drift.has_value(), e.records == 213) << e.end;
    if (account.drift) {
      EXPECT_GT(account.drift->last, 1.15 * account.drift->first);
    }
    // DeepSpeed's lines alone.
    JobLog deepspeed = *log;
    std::erase_if(deepspeed.records,
                  [](const LogRecord& r) { return r.tool->name != "deepspeed"; });
    const LogSteps others = steps_of(deepspeed);
    EXPECT_EQ(others.tool->name, "deepspeed");
    EXPECT_EQ(others.steps.size(), e.records - 1) << e.end;
    EXPECT_NEAR(sum_ms(others), e.deepspeed_sum_ms, 0.1) << e.end;
  }
}

TEST_F(JobLogs, TheArgumentsInTheTextGiveTheRate) {
  const auto log = read_job_log(path_of("-with-kernel.log"));
  ASSERT_TRUE(log);
  const LogSteps steps = steps_of(*log);
  const LogAccount account = account_of(*log, steps);
  EXPECT_DOUBLE_EQ(*account.batch, 256);
  EXPECT_DOUBLE_EQ(*account.sequence, 2048);
  EXPECT_DOUBLE_EQ(*account.devices, 8);
  const LogModel model = model_of_log(*log, account);
  ASSERT_TRUE(model.model) << model.why_not;
  EXPECT_EQ(model.model->vocabulary, 50304);
  const LogRates rates = log_rates(*log, steps, account, model, FlopRate{312e12});
  ASSERT_EQ(rates.rates.size(), 1U);
  // 12 layers of 768, feed-forward 3072, head of 50304, causal attention halved.
  const double h = 768;
  const double token = 6 * (12 * (4 * h * h + 2 * h * 3072) + h * 50304) + 6 * 12 * h * 2048;
  EXPECT_NEAR(*rates.rates[0].ours, token * 256 * 2048 / (account.median_ns / 1e9) / 8, 1e6);
  EXPECT_NEAR(*rates.mfu, *rates.rates[0].ours / 312e12, 1e-12);
}

}  // namespace
}  // namespace stepscope::shared
