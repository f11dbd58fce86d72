// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/read_job_log.h"

namespace stepscope {
namespace {

std::string event(double ms, const std::string& key, const std::string& value,
                  const std::string& metadata = "") {
  return R"(:::MLLOG {"namespace": "", "time_ms": )" + std::to_string(static_cast<long long>(ms)) +
         R"(, "event_type": "POINT_IN_TIME", "key": ")" + key + R"(", "value": )" + value +
         R"(, "metadata": {"file": "train.py", "lineno": 12)" +
         (metadata.empty() ? "" : ", " + metadata) + "}}\n";
}

std::string settings() {
  return event(900, "cache_clear", "true") + event(1000, "init_start", "null") +
         event(1001, "init_start", "null") + event(2000, "submission_benchmark", "\"llm_8b\"") +
         event(2000, "submission_org", "\"Somebody\"") + event(2000, "global_batch_size", "16") +
         event(2000, "max_sequence_length", "4096") + event(2000, "train_samples", "16000") +
         event(3000, "init_stop", "null") + event(3000, "run_start", "null");
}

JobLog mlperf_job_log(const std::string& text) {
  auto log = parse_job_log(text, "log");
  EXPECT_TRUE(log) << (log ? "" : log.error().message());
  return log ? std::move(*log) : JobLog{};
}

TEST(MlperfLog, BlocksBetweenEvaluationsTellTheStep) {
  const JobLog log = mlperf_job_log(
      settings() + event(3000, "block_start", "null", R"("samples_count": 0)") +
      event(13000, "tracked_stats", R"({"throughput": 16.5})", R"("step": 160)") +
      event(13000, "block_stop", "null", R"("samples_count": 160)") +
      event(13000, "eval_start", "null", R"("samples_count": 160)") +
      event(15000, "eval_accuracy", "4.5", R"("samples_count": 160)") +
      event(15500, "eval_stop", "null", R"("samples_count": 160)") +
      event(15500, "block_start", "null", R"("samples_count": 160)") +
      event(35500, "block_stop", "null", R"("samples_count": 480)") +
      event(35500, "eval_start", "null", R"("samples_count": 480)") +
      event(36500, "eval_accuracy", "3.25", R"("samples_count": 480)") +
      event(36500, "eval_stop", "null", R"("samples_count": 480)") +
      event(36600, "run_stop", "null", R"("samples_count": 480, "status": "success")"));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_EQ(steps.tool->name, "mlperf");
  EXPECT_DOUBLE_EQ(steps.steps[0].wall_ns, 1e9);  // 10 s over 10 steps
  EXPECT_DOUBLE_EQ(steps.steps[1].wall_ns, 1e9);  // 20 s over 20
  EXPECT_EQ(steps.steps[0].iteration, 10);
  EXPECT_EQ(steps.steps[1].steps, 20);
  EXPECT_TRUE(steps.steps[1].cause.empty()) << "an evaluation is not in the time of a block";
  EXPECT_DOUBLE_EQ(*log.records[0].samples_per_s, 16.5);
  EXPECT_DOUBLE_EQ(*log.records[1].samples_per_s, 16);
  ASSERT_TRUE(log.run);
  EXPECT_EQ(log.run->status, "success");
  EXPECT_DOUBLE_EQ(*log.run->init_s, 2);
  EXPECT_DOUBLE_EQ(*log.run->run_s, 33.6);
  EXPECT_EQ(log.run->evaluations, 2);
  EXPECT_DOUBLE_EQ(log.run->evaluation_s, 3.5);
  EXPECT_DOUBLE_EQ(*log.run->first_accuracy, 4.5);
  EXPECT_DOUBLE_EQ(*log.run->last_accuracy, 3.25);
  EXPECT_DOUBLE_EQ(*log.run->last_samples, 480);
  EXPECT_EQ(log.settings.at("seq_length"), "4096");
}

TEST(MlperfLog, SingleStepsGoBeforeTheirBlock) {
  std::string text = settings() + event(3000, "block_start", "null", R"("samples_count": 0)");
  for (int i = 0; i < 3; ++i)
    text += "0: " + event(4000 + i * 1000, "tracked_stats",
                          R"({"train_step_time": 1.25, "reduced_train_loss": )" +
                              std::to_string(5 - i) + "}",
                          R"("step": )" + std::to_string(i) + R"(.0, "samples_count": )" +
                              std::to_string(16 * (i + 1)) + ".0");
  text += event(7000, "tracked_stats", R"({"train_step_time": 1.3})", R"("samples_count": 48)");
  text += event(7000, "block_stop", "null", R"("samples_count": 48, "step": 3)");
  const JobLog log = mlperf_job_log(text);
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 3U) << "the mean of the block is no step";
  EXPECT_DOUBLE_EQ(steps.steps[2].wall_ns, 1.25e9);
  EXPECT_EQ(steps.steps[2].iteration, 3);
  EXPECT_DOUBLE_EQ(*log.records[2].loss, 3);
  ASSERT_TRUE(log.run);
  EXPECT_TRUE(log.run->status.empty()) << "the log ends before the run";
}

TEST(MlperfLog, EpochsCountInTrainingSamples) {
  const JobLog log =
      mlperf_job_log(settings() + event(3000, "epoch_start", "null", R"("epoch_num": 0)") +
                     event(13000, "eval_start", "null", R"("epoch_num": 0.01)") +
                     event(14000, "eval_stop", "null", R"("epoch_num": 0.01)") +
                     event(24000, "eval_start", "null", R"("epoch_num": 0.02)"));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 2U);  // 160 samples each
  EXPECT_DOUBLE_EQ(steps.steps[0].wall_ns, 1e9);
  EXPECT_DOUBLE_EQ(steps.steps[1].wall_ns, 1e9);
}

TEST(MlperfLog, EpochsOfFewStepsTellNothingButTheirThroughputDoes) {
  // Some logs have the number of batches under train_samples.
  const JobLog log =
      mlperf_job_log(settings() + event(3000, "train_samples", "400") +
                     event(3000, "epoch_start", "0", R"("epoch_num": 0)") +
                     event(13000, "epoch_stop", "0", R"("epoch_num": 0)") +
                     event(13000, "tracked_stats", R"({"throughput": 640})", R"("step": 1)"));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 1U);
  EXPECT_DOUBLE_EQ(steps.steps[0].wall_ns, 0.025e9);
  EXPECT_EQ(steps.steps[0].iteration, 400) << "10 s of 640 samples/s";
}

TEST(MlperfLog, StepsOfABlockGoBeforeItsSamples) {
  const JobLog log = mlperf_job_log(
      settings() + event(3000, "block_start", "null", R"("samples_count": 160, "step": 0)") +
      event(13000, "tracked_stats", R"({"train_step_time": 1.01})", R"("samples_count": 160)") +
      event(13000, "block_stop", "null", R"("samples_count": 160, "step": 10)") +
      event(13000, "block_start", "null", R"("samples_count": 160, "step": 10)") +
      event(18000, "tracked_stats", R"({"train_loss": 1.5})",
            R"("samples_count": 240, "step": 15)") +
      event(23000, "block_stop", "null", R"("samples_count": 160, "step": 20)"));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 3U);
  for (const LogStep& step : steps.steps) EXPECT_DOUBLE_EQ(step.wall_ns, 1e9);
  EXPECT_EQ(steps.steps[1].iteration, 15);
  EXPECT_DOUBLE_EQ(*log.records[1].loss, 1.5);
}

TEST(MlperfLog, NumbersThatGrowByTheBatchAreSamples) {
  std::string text = settings();
  for (int i = 1; i <= 3; ++i)
    text += event(3000 + i, "tracked_stats", R"({"train_step_time": 0.5})",
                  R"("step": )" + std::to_string(16 * i));
  text +=
      event(4000, "tracked_stats", R"({"throughput": 32, "train_step_time": 0.6})", R"("step": 0)");
  const LogSteps steps = steps_of(mlperf_job_log(text));
  ASSERT_EQ(steps.steps.size(), 3U) << "a step time beside a throughput is the mean of a block";
  EXPECT_EQ(steps.steps[2].iteration, 3);
}

TEST(MlperfLog, LossesWithSamplesDivideABlock) {
  std::string text = settings() + event(3000, "block_start", "null", R"("samples_count": 0)") +
                     event(3001, "train_loss", "11.5", R"("samples_count": 0)");
  for (int i = 1; i <= 4; ++i)
    text += event(3000 + i * 500, "train_loss", std::to_string(10 - i),
                  R"("samples_count": )" + std::to_string(16 * i));
  const LogSteps steps = steps_of(mlperf_job_log(text));
  ASSERT_EQ(steps.steps.size(), 4U);
  EXPECT_DOUBLE_EQ(steps.steps[3].wall_ns, 0.5e9);
}

TEST(MlperfLog, EpochsOfAWholeTrainingAreSteps) {
  const std::string begin = event(0, "global_batch_size", "440") +
                            event(0, "opt_learning_rate_training_steps", "8103") +
                            event(0, "train_samples", "3565320") + event(1000, "run_start", "null");
  const JobLog log = mlperf_job_log(
      begin + event(1000, "block_start", "null", R"("first_epoch_num": 0, "epoch_count": 1137)") +
      event(1138000, "block_stop", "null", R"("first_epoch_num": 0)") +
      event(1138000, "block_start", "null", R"("first_epoch_num": 1137, "epoch_count": 1137)") +
      event(2275000, "block_stop", "null", R"("first_epoch_num": 1137)") +
      event(2275000, "eval_start", "null", R"("epoch_num": 2)") +
      event(2276000, "eval_stop", "null", R"("epoch_num": 2)") +
      event(2276000, "eval_accuracy", "0.71", R"("epoch_num": 2)"));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_EQ(steps.steps[1].steps, 1137);
  EXPECT_DOUBLE_EQ(steps.steps[0].wall_ns, 1e9);
  ASSERT_TRUE(log.run);
  EXPECT_FALSE(log.run->last_samples) << "it counts blocks";
  EXPECT_FALSE(log.records[0].samples_per_s) << "no line prints a rate";
}

TEST(MlperfLog, APrintedRateGoesBeforeTheLengthOfAnEpoch) {
  const JobLog log = mlperf_job_log(
      event(0, "global_batch_size", "100") + event(0, "train_samples", "40000") +
      event(0, "run_start", "null") + event(0, "epoch_start", "null", R"("epoch_num": 1)") +
      event(90000, "throughput", "1200") +
      event(100000, "epoch_stop", "null", R"("epoch_num": 1)"));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 1U);
  EXPECT_EQ(steps.steps[0].iteration, 1200);
  EXPECT_NEAR(steps.steps[0].wall_ns, 1e9 / 12, 1);
}

TEST(MlperfLog, TheAccuracyBehindABlockTellsItsSamples) {
  const JobLog log =
      mlperf_job_log(event(0, "global_batch_size", "100") + event(0, "run_start", "null") +
                     event(0, "block_start", "null") + event(10000, "block_stop", "null") +
                     event(11000, "eval_accuracy", "0.5", R"("epoch_num": 2000)") +
                     event(11000, "block_start", "null") + event(22000, "block_stop", "null") +
                     event(23000, "eval_accuracy", "0.6", R"("epoch_num": 4000)"));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(steps.steps[0].wall_ns, 0.5e9);
  EXPECT_DOUBLE_EQ(steps.steps[1].wall_ns, 0.55e9);
}

TEST(MlperfLog, PrintedTimesGoBeforeThoseOfBlocks) {
  const JobLog log = mlperf_job_log(
      event(0, "global_batch_size", "100") + event(0, "train_samples", "40000") +
      event(0, "run_start", "null") + event(0, "epoch_start", "null", R"("epoch_num": 1)") +
      "[HCTR][INFO]: Iter: 1000 Time(1000 iters): 50.0s Loss: 0.13 lr:9.0\n" +
      "[HCTR][INFO]: Iter: 2000 Time(1000 iters): 51.0s Loss: 0.12 lr:9.0\n" +
      event(100000, "epoch_stop", "null", R"("epoch_num": 1)"));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_EQ(steps.tool->name, "hugectr");
  EXPECT_DOUBLE_EQ(steps.steps[1].wall_ns, 0.051e9);
}

TEST(MlperfLog, ASecondRunIsAnotherLaunch) {
  const std::string block = event(3000, "block_start", "null", R"("samples_count": 0)") +
                            event(13000, "block_stop", "null", R"("samples_count": 160)");
  const JobLog log = mlperf_job_log(settings() + block + event(13001, "run_start", "null") +
                                    event(13001, "block_start", "null", R"("samples_count": 0)") +
                                    event(33001, "block_stop", "null", R"("samples_count": 160)"));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_EQ(steps.launches.size(), 2U);
  EXPECT_DOUBLE_EQ(steps.steps[1].wall_ns, 2e9);
}

TEST(MlperfLog, LinesThatWereCutAreNoted) {
  const JobLog log = mlperf_job_log(settings() + ":::MLLOG {\"time_ms\": 12, \"key\": \"run_\n" +
                                    ":::MLLOG {\"time_ms\": true, \"key\": \"run_stop\"}\n" +
                                    event(3000, "block_start", "null", R"("samples_count": 0)") +
                                    event(13000, "block_stop", "null", R"("samples_count": 160)"));
  EXPECT_EQ(log.notes.at("records_cut"), 1U);
  EXPECT_EQ(log.notes.at("fields_not_understood"), 1U);
  EXPECT_EQ(steps_of(log).steps.size(), 1U);
}

}  // namespace
}  // namespace stepscope
