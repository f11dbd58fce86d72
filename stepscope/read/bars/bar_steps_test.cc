// SPDX-License-Identifier: Apache-2.0
// Progress bars, and lines of the Hugging Face Trainer that count steps.
#include "stepscope/read/bars/bar_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stepscope/read/log/read_job_log.h"

namespace stepscope {
namespace {

LogSteps bar_steps_in(std::string_view text) {
  const auto log = parse_job_log(text, "log");
  EXPECT_TRUE(log) << log.error().message();
  return log ? steps_of(*log) : LogSteps{};
}

std::vector<std::int64_t> milliseconds(const LogSteps& steps) {
  std::vector<std::int64_t> out;
  for (const LogStep& s : steps.steps) out.push_back(std::llround(s.wall_ns / 1e6));
  return out;
}

std::vector<std::int64_t> step_numbers(const LogSteps& steps) {
  std::vector<std::int64_t> out;
  for (const LogStep& s : steps.steps) out.push_back(s.iteration);
  return out;
}

using Counts = std::vector<std::int64_t>;

TEST(BarSteps, TheTimeBetweenLinesLacksTheSlowFirstStep) {
  const LogSteps steps = bar_steps_in(
      "Epoch 0:   6%|6   | 1/18 [00:08<02:29,  8.77s/it, v_num=1]\r"
      "Epoch 0:  11%|1   | 2/18 [00:11<01:33,  5.82s/it, v_num=1]\r"
      "Epoch 0:  11%|1   | 2/18 [00:12<01:33,  5.82s/it, loss=2.31, v_num=1]\r"
      "Epoch 0:  17%|1   | 3/18 [00:14<01:13,  4.87s/it, v_num=1]\r"
      "Epoch 0:  22%|2   | 4/18 [00:17<01:02,  4.47s/it, v_num=1]\r"
      "Epoch 0:  28%|2   | 5/18 [00:20<00:53,  4.14s/it, v_num=1]\r");
  EXPECT_EQ(milliseconds(steps), (Counts{3000, 3000}));
  EXPECT_EQ(step_numbers(steps), (Counts{3, 5}));
  EXPECT_EQ(steps.steps[0].steps, 2);
  EXPECT_EQ(steps.how, "the elapsed time of its progress bar");
}

TEST(BarSteps, BarsOfUltralyticsHaveTheirTimeWithoutBrackets) {
  const std::string row =
      "\r\x1b[K      6/120      11.4G      1.398       4.03         59        640: ";
  const LogSteps steps =
      bar_steps_in(row + "3% ╸─────────── 4/128 1.3s/it 6.0s<2:42" + row +
                   "42% ━━━━━─────── 54/128 1.1s/it 1:01<1:22" + row +
                   "100% ━━━━━━━━━━━━ 128/128 1.1s/it 2:15\n"
                   "                 Class     Images  Instances      Box(P          R      mAP50  "
                   "mAP50-95): 100% ━━━━━━━━━━━━ 3/3 2.0s/it 6.0s\n");
  EXPECT_EQ(milliseconds(steps), (Counts{1100, 1000}));
  EXPECT_EQ(steps.steps[0].steps, 50);
  const LogSteps closed = bar_steps_in(
      "      1/100      22.7G      1.411      1.365          7        960: 100% ━━━━━━━━━━━━ "
      "3709/3709 "
      "1.1s/it 1:09:38\n");
  EXPECT_EQ(milliseconds(closed), Counts{1127});
}

TEST(BarSteps, MovingMeansBeginWhereTheFirstStepNoLongerWeighs) {
  const LogSteps steps = bar_steps_in(
      " 4%|  | 4/100 [00:08<02:29,  2.10s/it]\r"
      "11%|  | 11/100 [00:10<00:30,  3.33it/s]\r"
      "12%|  | 12/100 [00:10<00:26,  3.34it/s]\r");
  EXPECT_EQ(step_numbers(steps), (Counts{11, 12}));
  EXPECT_EQ(steps.how, "the moving mean of its progress bar");
  EXPECT_EQ(bar_steps_in(" 1%|  | 1/100 [00:08<12:29,  8.10s/it]\r").how,
            "the moving mean of its progress bar, in which its first step still weighs");
}

TEST(BarSteps, AClosedBarIsTheMeanOfItsSteps) {
  const LogSteps steps = bar_steps_in(
      "      1/400      17.9G      1.72         10       1280: 100%|##| 60/60 [00:37<00:00,  "
      "1.61it/s]\n"
      "      2/400      16.4G      1.30          7       1280: 100%|##| 60/60 [06:06<00:00,  "
      "6.11s/it]\n");
  EXPECT_EQ(milliseconds(steps), (Counts{621, 6110}));
  EXPECT_EQ(step_numbers(steps), (Counts{60, 60}));
  EXPECT_TRUE(steps.by_epoch);
  EXPECT_EQ(steps.steps[0].steps, 60);
  EXPECT_EQ(steps.launches.size(), 1U);
  EXPECT_EQ(steps.numbered_anew, 0U);
  // A rate that its time does not give is no mean of all steps.
  EXPECT_EQ(bar_steps_in("100%|##| 60/60 [00:37<00:00,  3.61it/s]\n").steps[0].steps, 1);
}

TEST(BarSteps, BarsWithoutAnEpochNameNoSteps) {
  const LogSteps steps = bar_steps_in(
      "100%|##| 50/50 [01:40<00:00,  2.00s/it]\n"
      "100%|##| 50/50 [02:30<00:00,  3.00s/it]\n");
  EXPECT_EQ(milliseconds(steps), (Counts{2000, 3000}));
  EXPECT_EQ(step_numbers(steps), (Counts{-1, -1}));
  EXPECT_EQ(steps.numbered_anew, 1U);
  EXPECT_EQ(steps.launches.size(), 1U);
}

TEST(BarSteps, TenthsOfASecondAreExact) {
  const LogSteps steps = bar_steps_in(
      "   12/300  3.87G  3.63  5.712  4.189  176  640: 100% ━━━━━━━━━━━━ 8/8 3.1it/s 2.6s\n"
      "   13/300  3.87G  3.62  5.677  4.18  251  640: 100% ━━━━━━━━━━━━ 8/8 4.5it/s 1.8s\n");
  EXPECT_EQ(milliseconds(steps), (Counts{325, 225}));
}

TEST(BarSteps, ABarOfNoSecondIsNoTraining) {
  EXPECT_TRUE(bar_steps_in("100%|##| 100/100 [00:00<00:00, 555.32it/s]\n").steps.empty());
}

TEST(BarSteps, MixedBarsAreNoLaunches) {
  const LogSteps steps = bar_steps_in(
      "| epoch 001:   0%| | 39/11265 [01:55<9:15:41,  2.97s/it, loss=0.100]\n"
      "| epoch 001:   0%| | 38/11265 [01:56<9:32:57,  3.06s/it, loss=0.200]\n"
      "| epoch 001:   0%| | 39/11265 [01:57<9:23:14,  3.01s/it, loss=0.100]\n"
      "| epoch 001:   0%| | 40/11265 [01:59<9:18:04,  2.98s/it, loss=0.300]\n"
      "| epoch 001:   0%| | 39/11265 [01:58<9:32:20,  3.06s/it, loss=0.200]\n");
  EXPECT_EQ(step_numbers(steps), (Counts{38, 39, 40}));
  EXPECT_EQ(steps.launches.size(), 1U);
  EXPECT_EQ(steps.numbered_anew, 0U);
  EXPECT_EQ(steps.how, "the moving mean of several bars whose lines are mixed");
}

TEST(BarSteps, EachEpochCountsItsSteps) {
  const LogSteps one = bar_steps_in("Epoch 1:  39%|# | 48/123 [00:59<09:15,  1.47it/s, v_num=1]\n");
  EXPECT_EQ(step_numbers(one), Counts{48});
  EXPECT_FALSE(one.by_epoch);
  const LogSteps two = bar_steps_in(
      "Epoch 0/2:  99%|# | 100/101 [00:59<00:01,  1.47it/s]\n"
      "Epoch 1/2:  99%|# | 100/101 [00:59<00:01,  1.47it/s]\n");
  EXPECT_EQ(step_numbers(two), (Counts{100, 100}));
  EXPECT_TRUE(two.by_epoch);
}

TEST(BarSteps, EqualBarsOfSeveralProcessesAreOne) {
  const std::string one =
      "  6%|6   | 1/16 [00:58<14:41, 58.76s/it]\n 12%|1   | 2/16 [02:00<13:54, 59.61s/it]\n"
      " 19%|1   | 3/16 [03:00<12:56, 59.72s/it]\n 25%|#   | 4/16 [04:01<12:56, 59.92s/it]\n";
  const std::string other =
      "  6%|6   | 1/16 [00:58<14:40, 58.70s/it]\n 12%|1   | 2/16 [02:00<13:53, 59.57s/it]\n"
      " 19%|1   | 3/16 [03:00<12:56, 59.69s/it]\n 25%|#   | 4/16 [04:01<12:56, 59.90s/it]\n";
  const LogSteps steps = bar_steps_in(one + one + other);
  EXPECT_EQ(milliseconds(steps), (Counts{62000, 60000, 61000}));
  EXPECT_EQ(steps.numbered_anew, 0U);
  EXPECT_EQ(bar_steps_in(one + "  6%|6   | 1/16 [00:54<14:40, 54.70s/it]\n"
                               " 12%|1   | 2/16 [01:50<13:53, 55.57s/it]\n")
                .numbered_anew,
            1U);
}

TEST(BarSteps, ABarThatTheTerminalCutsHasCountAndClock) {
  const LogSteps steps = bar_steps_in(
      "  1%|#        | 2/203 [00:12<16:46,  5.01s/it\n"
      "  1%|##       | 3/203 [00:20<19:53,  5.97s/\n"
      "  2%|###      | 4/203 [00:37<30:5\n");
  EXPECT_EQ(milliseconds(steps), (Counts{8000, 17000}));
  EXPECT_EQ(step_numbers(steps), (Counts{3, 4}));
}

TEST(BarSteps, BarsOfOtherWorkAreNotOfTraining) {
  const LogSteps steps = bar_steps_in(
      "Loading checkpoint shards: 100%|####| 8/8 [00:19<00:00,  2.36s/it]\n"
      "Map (num_proc=8): 100%|####| 500/500 [00:59<00:00,  8.47it/s]\n"
      "  1%|#  | 2/203 [00:12<16:46,  5.01s/it]\n"
      "Validation DataLoader 0:  50%|#  | 20/40 [02:12<02:12,  6.60s/it]\n"
      "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): "
      "100%|##| 99/99 [03:01<00:00,  1.83s/it]\n");
  EXPECT_EQ(milliseconds(steps), Counts{5010});
  const auto none = parse_job_log(
      "2026-06-14 22:33:06,424 - INFO: validation progress: 24%|##3 | 4/17 [00:24<01:20, "
      "6.17s/it]\n"
      "Loading checkpoint shards: 100%|####| 8/8 [00:19<00:00,  2.36s/it]\n",
      "log");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what,
            "names no step time: it has progress bars of validation and of loading, not of "
            "training");
}

TEST(BarSteps, ABarOfAnEvaluationExplainsTheStepsBehindIt) {
  const LogSteps steps = bar_steps_in(
      " 10%|#  | 10/100 [00:20<03:00, 2.00s/it]\n 20%|#  | 20/100 [00:40<02:40, 2.00s/it]\n"
      "***** Running Evaluation *****\n"
      " 50%|#  | 5/10 [00:10<00:10, 2.00s/it]\n100%|##| 10/10 [00:20<00:00, 2.00s/it]\n"
      " 30%|#  | 30/100 [01:20<02:20, 2.00s/it]\n 40%|#  | 40/100 [01:40<02:00, 2.00s/it]\n");
  ASSERT_EQ(milliseconds(steps), (Counts{2000, 4000, 2000}));
  EXPECT_EQ(steps.steps[1].cause, "eval");
  EXPECT_EQ(steps.steps[2].cause, "");
}

TEST(BarSteps, ABarOfOtherUnitsCountsNoSteps) {
  EXPECT_FALSE(
      parse_job_log(" 45%|## | 450/1000 [00:10<00:12, 44.10 examples/s]\n"
                    " 55%|## | 550/1000 [00:30<00:12, 44.10 examples/s]\n",
                    "log"));
}

TEST(BarSteps, AProgramMayNameTheUnitOfItsSteps) {
  const LogSteps steps = bar_steps_in(
      "Epoch 0: 100%|####| 994/994 [03:44<00:00,  4.43batch/s, loss=1.2]\n"
      "Epoch 1: 100%|####| 994/994 [03:58<00:00,  4.17 batches/s]\n"
      "Training: 100%|####| 2/2 [07:42<00:00, 231.20s/epoch]\n");
  EXPECT_EQ(milliseconds(steps), (Counts{226, 240}));
  EXPECT_EQ(steps.steps[0].steps, 994);
}

TEST(BarSteps, ABarWithoutATotalHasElapsedTimeAndCount) {
  const LogSteps figures = bar_steps_in(
      "Epoch 0: :   0%|          | 614/? [23:53<00:00, v_num=, reduced_train_loss=, step=]\n");
  EXPECT_EQ(milliseconds(figures), Counts{2334});
  EXPECT_EQ(figures.steps[0].steps, 614);
  EXPECT_EQ(figures.how, "the mean since the begin of its progress bar");
  EXPECT_EQ(milliseconds(bar_steps_in("10it [00:30,  3.00s/it]\r20it [01:05,  3.40s/it]\r")),
            Counts{3500});
}

TEST(BarSteps, WordsOfTrainingAndOfFiguresAreNoOtherWork) {
  for (const char* before : {"Training (eval every 5): ", "Epoch 3 val loss 0.31: ", "Steps: ",
                             "[evaluate.py:33] Epoch 3: ", "val_loss=0.31 ", "Loss: 0.52: "})
    EXPECT_EQ(bar_steps_in(std::string(before) + " 24%|# | 40/170 [01:24<01:20, 2.17s/it]\n")
                  .steps.size(),
              1U)
        << before;
}

TEST(TrainerSteps, TheMeanOfARunIsItsTimeByItsSteps) {
  const LogSteps steps = bar_steps_in(
      R"({"log_history": [{"epoch": 1.0, "step": 768, "train_runtime": 5980.69,
          "train_steps_per_second": 0.128}], "global_step": 768, "max_steps": 768})");
  EXPECT_EQ(milliseconds(steps), Counts{7787});
  ASSERT_EQ(steps.steps.size(), 1U);
  EXPECT_EQ(steps.steps[0].steps, 768);
  EXPECT_FALSE(steps.steps_rounded);
  // A second run of the same history has its own time.
  const LogSteps second = bar_steps_in(
      R"({"log_history": [{"step": 100, "train_runtime": 200.0},
          {"step": 150, "train_runtime": 50.0}], "global_step": 150})");
  EXPECT_EQ(milliseconds(second), Counts{1000});
}

TEST(TrainerSteps, ARoundedRateGivesAnInterval) {
  const LogSteps steps = bar_steps_in(
      "{'train_runtime': '2219', 'train_samples_per_second': '1.474', 'train_steps_per_second': "
      "'0.185', 'train_loss': '0.7228', 'epoch': '3'}\n");
  EXPECT_EQ(milliseconds(steps), Counts{5405});
  EXPECT_TRUE(steps.steps_rounded);
  EXPECT_EQ(steps.how, "the mean of the whole run by its rounded rate, between 5391 and 5420 ms");
}

TEST(TrainerSteps, ARateThatAllowsOneNumberOfStepsGivesIt) {
  const LogSteps steps = bar_steps_in(
      "{'train_runtime': 273.01, 'train_samples_per_second': 3.663, 'train_steps_per_second': "
      "0.007, 'epoch': 1.0}\n");
  EXPECT_EQ(milliseconds(steps), Counts{136505});
  ASSERT_EQ(steps.steps.size(), 1U);
  EXPECT_EQ(steps.steps[0].steps, 2);
  EXPECT_FALSE(steps.steps_rounded);
}

TEST(TrainerSteps, OfMsSwiftByItsElapsedTime) {
  const LogSteps steps = bar_steps_in(
      "{'loss': 1.25, 'epoch': 0.01, 'global_step/max_steps': '5/1000', 'elapsed_time': '40s', "
      "'train_speed(iter/s)': 0.124}\n"
      "{'loss': 1.15, 'epoch': 0.02, 'global_step/max_steps': '15/1000', 'elapsed_time': '1m 10s', "
      "'train_speed(iter/s)': 0.213}\n");
  EXPECT_EQ(milliseconds(steps), Counts{3000});
  EXPECT_EQ(step_numbers(steps), Counts{15});
  const LogSteps one = bar_steps_in(
      "{'loss': 1.25, 'global_step/max_steps': '5/3766', 'elapsed_time': '1m 29s', "
      "'train_speed(iter/s)': 0.056099}\n");
  EXPECT_EQ(milliseconds(one), Counts{17826});
  ASSERT_EQ(one.steps.size(), 1U);
  EXPECT_EQ(one.steps[0].steps, 5);
}

TEST(TrainerSteps, TimeStampsCountWhereTheStepIsNumbered) {
  EXPECT_EQ(milliseconds(bar_steps_in("2026-01-01 10:00:00 {'loss': 1.5, 'step': 10}\n"
                                      "2026-01-01 10:00:25 {'loss': 1.4, 'step': 20}\n")),
            Counts{2500});
  EXPECT_TRUE(bar_steps_in("2026-01-01 10:00:00 {'loss': 1.5, 'epoch': 0.1}\n"
                           "2026-01-01 10:00:25 {'loss': 1.4, 'epoch': 0.2}\n")
                  .steps.empty());
}

TEST(PatternSteps, NumbersThatBeginAnewWithAnEpochAreNoLaunch) {
  const StepReading reading = [] {
    StepReading made;
    made.pattern = "[{step}/2350] * time: {s},";
    return made;
  }();
  const auto steps_in = [&](std::string_view text) {
    const auto log = parse_job_log(text, "log", reading);
    EXPECT_TRUE(log) << log.error().message();
    return log ? steps_of(*log) : LogSteps{};
  };
  const LogSteps epochs = steps_in(
      "Epoch [1][2300/2350] lr: 0.01, time: 0.391, loss: 1\n"
      "Epoch [1][2350/2350] lr: 0.01, time: 0.395, loss: 1\n"
      "Epoch [2][50/2350] lr: 0.01, time: 0.401, loss: 1\n");
  EXPECT_EQ(step_numbers(epochs), (Counts{2300, 2350, 50}));
  EXPECT_EQ(epochs.launches.size(), 1U);
  EXPECT_EQ(epochs.numbered_anew, 0U);
  const LogSteps untold = steps_in(
      "[2300/2350] lr: 0.01, time: 0.391, loss: 1\n"
      "[50/2350] lr: 0.01, time: 0.401, loss: 1\n");
  EXPECT_EQ(untold.launches.size(), 1U);
  EXPECT_EQ(untold.numbered_anew, 1U);
  EXPECT_EQ(untold.steps.size(), 2U);
}

}  // namespace
}  // namespace stepscope
