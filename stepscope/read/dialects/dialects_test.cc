// SPDX-License-Identifier: Apache-2.0
// Lines as each tool's source formats them (named in the tool's own file), and lines that only
// resemble them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stepscope/read/log/log_test_steps.h"

namespace stepscope {
namespace {

using test::expect_steps;
using test::parsed_dialect;
using test::timer;

TEST(LogDialect, OfOlmo) {
  const JobLog log = expect_steps(
      "2025-03-02 08:15:10.120\tnode7:0\tolmo.train:816\tINFO\t[step=41/5000,epoch=0]\n"
      "    train/CrossEntropyLoss=3.215\n"
      "    throughput/total_tokens=171,966,464\n"
      "    throughput/device/tokens_per_second=11,204\n"
      "    throughput/device/batches_per_second=0.2500\n"
      "2025-03-02 08:15:14.127\tnode7:0\tolmo.train:816\tINFO\t[step=42/5000,epoch=0]\n"
      "    train/CrossEntropyLoss=3.207\n"
      "    throughput/device/tokens_per_second=11,010\n"
      "    throughput/device/batches_per_second=0.2000\n"
      "    System/Peak GPU Memory (MB)=61,440\n",
      {"olmo", {41, 42}, {4, 5}});
  ASSERT_EQ(log.records.size(), 2U);
  EXPECT_DOUBLE_EQ(*log.records[1].loss, 3.207);
  EXPECT_DOUBLE_EQ(*log.records[1].tokens_per_s_device, 11010);
  EXPECT_DOUBLE_EQ(*log.records[1].memory_bytes, 61440e6);
}

TEST(LogDialect, OfOlmoCore) {
  const JobLog log = expect_steps(
      "2026-01-05T10:00:00Z INFO [step=7/900,epoch=1,eta=2:10:03]\n"
      "    train/CE loss=2.511\n"
      "    throughput/device/TPS=20,480\n"
      "    throughput/device/BPS=0.5000\n"
      "    throughput/device/BPS (actual avg)=0.3100\n"
      "    throughput/device/MFU=41.50\n"
      "INFO [step=8/900,epoch=1,eta=2:10:01]\n"
      "    throughput/device/BPS=0.4000\n",
      {"olmo", {7, 8}, {2, 2.5}});
  EXPECT_DOUBLE_EQ(*log.records[0].mfu, 0.415);
}

TEST(LogDialect, OfOlmoWithoutItsRateByTimeStamps) {
  expect_steps(
      "2025-03-02 08:15:10.000 INFO [step=1/50]\n    train/CrossEntropyLoss=3.2\n"
      "2025-03-02 08:15:12.500 INFO [step=2/50]\n    train/CrossEntropyLoss=3.1\n",
      {"olmo", {2}, {2.5}});
}

TEST(LogDialect, AHeadOfAnotherProgramIsNoStep) {
  const auto log = parse_job_log("[step=1/50] hello\n[step=2/50] hello\n[batch=3/4]\n", "log");
  EXPECT_FALSE(log);
}

TEST(LogDialect, OfComposer) {
  const JobLog log = expect_steps(
      "[batch=1/40]:\n\t Train time/batch: 0\n\t Train loss/train/total: 11.0321\n"
      "[batch=12/40]:\n\t Train loss/train/total: 9.8711\n"
      "\t Train throughput/batches_per_sec: 0.1250\n"
      "\t Train throughput/device/mfu: 0.4410\n"
      "[Eval batch=1/10] Eval on validation data\n"
      "[batch=13/40]:\n\t Train throughput/batches_per_sec: 0.1000\n",
      {"composer", {12, 13}, {8, 10}});
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 11.0321);
  EXPECT_DOUBLE_EQ(*log.records[1].mfu, 0.441);
  expect_steps(
      "[epoch=1][batch=5/10]:\n\t Train throughput/batches_per_sec: 1\n"
      "[epoch=2][batch=1/10]:\n\t Train throughput/batches_per_sec: 2\n",
      {"composer", {5, 1}, {1, 0.5}});
}

TEST(LogDialect, OfTorchtuneGivesTheTimeOfAToken) {
  const JobLog log = parsed_dialect(
      "Step 3 | loss:1.1327591419219971 lr:2e-05 tokens_per_second_per_gpu:5000.0 "
      "peak_memory_active:21.6 peak_memory_reserved:23.5 \n"
      "Step 4 | loss:1.12 lr:2e-05 tokens_per_second_per_gpu:4000.0 peak_memory_active:21.6 \n"
      "Step by step | tokens_per_second_per_gpu:4000.0\n");
  const LogSteps steps = steps_of(log);
  EXPECT_TRUE(steps.of_tokens);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(steps.steps[0].wall_ns, 2e5);
  EXPECT_DOUBLE_EQ(steps.steps[1].wall_ns, 2.5e5);
  EXPECT_DOUBLE_EQ(*log.records[0].memory_bytes, 23.5 * 1024 * 1024 * 1024);
}

TEST(LogDialect, ABarBesideRatesGivesTheTimeOfAStep) {
  expect_steps(
      "Step 3 | loss:1.13 lr:2e-05 tokens_per_second_per_gpu:5000.0 peak_memory_active:21.6 \n"
      "1|3|Loss: 1.13:  3%|3  | 3/100 [00:09<04:51,  3.00s/it]\n",
      {"progress_bar", {3}, {3}});
}

TEST(LogDialect, OfTheSftTrainerOfVerl) {
  const JobLog log = expect_steps(
      "step:1 - train/loss:0.723 - train/lr(1e-3):0.0096 - train/time(s):2.81\n"
      "step:2 - train/loss:0.701 - train/lr(1e-3):0.0099 - train/time(s):2.75\n"
      "step:2 - val/loss:0.690\n",
      {"verl", {1, 2}, {2.81, 2.75}});
  EXPECT_DOUBLE_EQ(*log.records[1].loss, 0.701);
}

TEST(LogDialect, OfVerl) {
  const JobLog log = expect_steps(
      "(TaskRunner pid=77) step:9 - global_seqlen/min:1200 - actor/pg_loss:-0.013 - "
      "perf/mfu/actor:0.31 - timing_s/gen:20.5 - timing_s/update_actor:9.25 - timing_s/step:41.0 - "
      "timing_per_token_ms/gen:0.03 - training/global_step:9 - perf/throughput:3120.5\n"
      "(TaskRunner pid=77) step:10 - actor/pg_loss:np.float64(-0.011) - "
      "timing_s/gen:np.float64(21.5) - timing_s/step:np.float64(43.5) - training/global_step:10\n",
      {"verl", {9, 10}, {41, 43.5}});
  const LogTimer* gen = timer(log, "gen");
  ASSERT_NE(gen, nullptr);
  EXPECT_EQ(gen->ms, (std::vector<double>{20500, 21500}));
  EXPECT_EQ(timer(log, "step"), nullptr) << "the step itself";
  EXPECT_DOUBLE_EQ(*log.records[0].tokens_per_s_device, 3120.5);
  EXPECT_DOUBLE_EQ(*log.records[1].loss, -0.011);
}

TEST(LogDialect, AHeadThatWasCutOffVerlsLineIsNoStep) {
  const auto log =
      parse_job_log("len/min:4 - timing_s/gen:20.5 - timing_s/step:95.0 - x:1\n", "log");
  EXPECT_FALSE(log);
}

TEST(LogDialect, OfNanotron) {
  const JobLog log = expect_steps(
      "09/12/2025 10:11:12 [INFO|DP=0|PP=0|TP=0]: iteration: 3 / 15 | consumed_tokens: 3.15M | "
      "elapsed_time_per_iteration_ms: 1.26K | tokens_per_sec: 832K | tokens_per_sec_per_gpu: 13K | "
      "global_batch_size: 512 | lm_loss: 9.31 | lr: 0.0003 | model_tflops_per_gpu: 121 | "
      "hardware_tflops_per_gpu: 121 | grad_norm: 1.5\n"
      "09/12/2025 10:11:13 [INFO]: iteration: 4 / 15 | consumed_tokens: 4.2M | "
      "elapsed_time_per_iteration_ms: 987 | tokens_per_sec: 1.06M\n",
      {"nanotron", {3, 4}, {1.26, 0.987}});
  EXPECT_DOUBLE_EQ(*log.records[0].tokens_per_s, 832e3);
  EXPECT_DOUBLE_EQ(*log.records[1].tokens_per_s, 1.06e6);
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 9.31);
}

TEST(LogDialect, OfInternLmInBothForms) {
  const JobLog log = expect_steps(
      "2024-02-03 12:29:01,600\tINFO train.py:323 in record_current_batch_training_metrics -- "
      "tflops=181.5,step=1,loss=11.2,tgs (tokens/gpu/second)=4100.25,lr=6e-07,loss_scale=65536.0,"
      "grad_norm=6.1,fwd_bwd_time=3.5\n"
      "2024-02-03 12:29:05,100 INFO pipeline.py:599 in record_current_batch_training_metrics -- "
      "tflops=183.0 step=2 loss=11.0 tgs (tokens/gpu/second)=4111.5 tgs/last_tgs_1=4111.5 "
      "grad_norm={'0_default': 0.02} fwd_bwd_time=3.4 loss_from_metric=11.0 loss/code=nan\n",
      {"internlm", {2}, {3.5}});
  ASSERT_EQ(log.records.size(), 2U);
  EXPECT_DOUBLE_EQ(*log.records[1].flops_per_s, 183e12);
  EXPECT_DOUBLE_EQ(*log.records[1].loss, 11.0);
  EXPECT_EQ(log.records[1].not_finite, 0);
  ASSERT_NE(timer(log, "fwd_bwd_time"), nullptr);
}

TEST(LogDialect, OfFairseqInBothForms) {
  expect_steps(
      "2023-10-15 11:33:32 | INFO | train_inner | epoch 001:    100 / 487 loss=4.655, ppl=25.2, "
      "wps=35120, ups=2.5, wpb=14048, bsz=512, num_updates=100, lr=5e-05, gnorm=1.2, "
      "train_wall=39, wall=44\n"
      "2023-10-15 11:34:02 | INFO | train | epoch 001 | loss 4.6 | ups 2.4 | num_updates 487\n"
      "2023-10-15 11:34:12 | INFO | train_inner | epoch 002:    113 / 487 loss=4.401, wps=28000, "
      "ups=2, num_updates=600, lr=5e-05\n",
      {"fairseq", {100, 600}, {0.4, 0.5}});
  const JobLog log = expect_steps(
      "2023-10-15 11:33:32 | INFO | train_inner | {\"epoch\": 1, \"update\": 0.205, \"loss\": "
      "\"4.655\", \"nll_loss\": \"4.5\", \"wps\": \"35120\", \"ups\": \"1.25\", \"num_updates\": "
      "\"100\", \"lr\": \"5e-05\"}\n",
      {"fairseq", {100}, {0.8}});
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 4.655);
}

TEST(LogDialect, OfFairseqByItsClockWhereThatIsExactEnough) {
  const auto line = [](int updates, const std::string& ups, int wall) {
    return "| epoch 001:    " + std::to_string(updates) +
           " / 1891 loss=11.5, wps=52922, ups=" + ups +
           ", wpb=104928, num_updates=" + std::to_string(updates) +
           ", lr=8e-05, wall=" + std::to_string(wall) + ", train_wall=13\n";
  };
  // On a TPU "ups" counts lines.
  expect_steps(line(2800, "0.04", 1236) + line(2900, "0.04", 1265) + line(3000, "0.03", 1294),
               {"fairseq", {2900, 3000}, {0.29, 0.29}});
  expect_steps(line(100, "9.5", 12) + line(150, "9.6", 17) + line(200, "9.7", 22),
               {"fairseq", {100, 150, 200}, {1 / 9.5, 1 / 9.6, 1 / 9.7}});
  expect_steps("| epoch 010  2000 / 8223 loss=1.27 (1.50), wps=960, wpb=480, bsz=32, lr=0.001\n",
               {"fairseq", {2000}, {0.5}});
}

TEST(LogDialect, OfDeepSpeedsProgressLines) {
  const std::string tail = ", skipped=2, lr=[5e-05], mom=[[0.9, 0.999]]\n";
  const std::string source = " [INFO] [logging.py:69:log_dist] [Rank 0] step=";
  expect_steps("[2022-03-11 02:06:58,000]" + source + "40" + tail + "[2022-03-11 02:07:14,000]" +
                   source + "50" + tail,
               {"deepspeed", {50}, {1.6}});
}

TEST(LogDialect, OfDeepSpeedsTimersByTheirStamps) {
  const auto line = [](const std::string& at, const std::string& timers) {
    return "[2025-09-15 14:48:" + at + "] [INFO] [logging.py:107:log_dist] [Rank 0] time (ms) | " +
           timers + '\n';
  };
  const std::string whole = "fwd: 1000.0 | bwd: 2000.0 | step: 100.0";
  expect_steps(line("06,000", whole) + line("11,000", whole), {"deepspeed", {-1}, {5}});
  expect_steps(line("06,000", whole), {"deepspeed", {-1}, {3.1}});
  const std::string update = "compute_norm: 3.0 | unscale_and_clip: 5.1 | update_fp16: 4.6";
  expect_steps(line("06,000", update) + line("19,000", update), {"deepspeed", {-1}, {13}});
  const JobLog log = parsed_dialect(line("06,000", whole) + line("11,000", whole) +
                                    "{'eval_loss': 2.5}\n" + line("56,000", whole));
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_EQ(steps.steps[0].cause, "");
  EXPECT_EQ(steps.steps[1].cause, "eval") << "its time has the evaluation";
  expect_steps(line("06,000", whole) + "  0%|   | 1/1562 [00:12<5:00:00, 12.00s/it]\n",
               {"progress_bar", {1}, {12}});
}

TEST(LogDialect, OfColossalAi) {
  const JobLog log = expect_steps(
      "[03/09/26 12:00:00] INFO     colossalai - colossalai - INFO: train_gpt_demo.py:300 main\n"
      "                    INFO     colossalai - colossalai - INFO: [3/10] Loss:10.871, Step time: "
      "0.512s, TFLOPS: 45.104, FWD time: 0.131s, BWD time: 0.290s, OPTIM time: 0.091s\n",
      {"colossal_ai", {3}, {0.512}});
  const LogTimer* backward = timer(log, "BWD time");
  ASSERT_NE(backward, nullptr);
  EXPECT_DOUBLE_EQ(backward->ms.front(), 290);
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 10.871);
}

TEST(LogDialect, OfPrimeRl) {
  const JobLog log = expect_steps(
      "12:00:40 SUCCESS Step 11 | Time: 38.25s | Loss: 0.0021 | Entropy: 0.41 | Mismatch KL: "
      "0.0001 "
      "| Grad. Norm: 0.08 | LR: 1.00e-06 | Throughput: 9120 tokens/s | MFU: 31.2% | Peak Mem.: "
      "61.3 GiB\n"
      "12:00:41 SUCCESS Step 11 | Time: 52.00s | Reward: 0.4125 | Throughput: 8012 tokens/s\n",
      {"prime_rl", {11}, {38.25}});
  EXPECT_DOUBLE_EQ(*log.records[0].mfu, 0.312);
  EXPECT_DOUBLE_EQ(*log.records[0].tokens_per_s, 9120);
  expect_steps("Step 4 | Time: 52.00s | Reward: 0.4125 | Seq. Length: 812 tokens/sample\n",
               {"prime_rl_orchestrator", {4}, {52}});
}

TEST(LogDialect, OfEspnet) {
  const JobLog log = expect_steps(
      "[gpu01:0/2] 2026-01-05 08:49:04,080 (trainer:464) INFO: 1epoch:train:1-500batch: "
      "iter_time=2.900e-04, forward_time=0.120, loss=103.5, acc=0.013, backward_time=0.110, "
      "optim_step_time=0.030, lr_0=3.46e-06, train_time=1.250\n"
      "[gpu01:0/2] 2026-01-05 08:54:09,601 (trainer:464) INFO: 1epoch:train:501-1000batch: "
      "iter_time=5.900e-05, forward_time=0.130, loss=68.7, acc=0.125, backward_time=0.100, "
      "optim_step_time=0.030, lr_0=1.02e-05, train_time=1.500\n"
      "[gpu01:0/2] 2026-01-05 08:56:09,601 (trainer:306) INFO: 1epoch results: [train] "
      "iter_time=5.900e-05, train_time=1.400, time=10 minutes, [valid] loss=60.1\n",
      {"espnet", {-1, -1}, {1.25, 1.5}});
  ASSERT_NE(timer(log, "iter_time"), nullptr);
  EXPECT_EQ(timer(log, "forward_time")->ms, (std::vector<double>{120, 130}));
  EXPECT_DOUBLE_EQ(*log.records[1].loss, 68.7);
}

TEST(LogDialect, OfPaddleNlpByTheStepsOfAnInterval) {
  const std::string text =
      "[    INFO] - loss: 2.5, learning_rate: 2.1e-06, global_step: 20, interval_runtime: 30.0, "
      "interval_samples_per_second: 5.333, interval_steps_per_second: 0.667, epoch: 0.0014\n"
      "[2026-01-05 09:46:28,399] [    INFO] - loss: 2.25, learning_rate: 4e-07, global_step: 40, "
      "interval_runtime: 20.0, interval_samples_per_second: 8.0, interval_steps_per_second: 1.0, "
      "progress_or_epoch: 0.0028\n"
      "[2026-01-05 09:46:28,500] [    INFO] - ***** Running Evaluation *****\n"
      "[2026-01-05 10:26:28,399] [    INFO] - loss: 2.25, learning_rate: 4e-07, global_step: 50, "
      "interval_runtime: 2000.0, interval_samples_per_second: 0.04, interval_steps_per_second: "
      "0.004, progress_or_epoch: 0.0028\n";
  const JobLog log = expect_steps(text, {"paddle_nlp", {20, 40, 50}, {1.5, 1, 200}});
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.steps[1].steps, 20);
  EXPECT_EQ(steps.steps[2].steps, 10);
  EXPECT_EQ(steps.steps[2].cause, "eval");
}

TEST(LogDialect, OfPithTrain) {
  const JobLog log = expect_steps(
      "step 00000012/00001000 | step-time 3.412 sec | cross-entropy-loss 8.1203 | "
      "load-balance-loss "
      "1.003100 | learning-rate 1.0e-04 | gradient-norm 0.9 | tokens-per-second 153,662 | "
      "peak-gpu-memory 61.20 GB\n",
      {"pith_train", {12}, {3.412}});
  EXPECT_DOUBLE_EQ(*log.records[0].tokens_per_s, 153662);
}

TEST(LogDialect, OfEasyDel) {
  expect_steps(
      "{'train': {'epoch': 0.01, 'learning_rate': 2e-05, 'loss': 2.311, 'train_step': 10}, "
      "'performance': {'execution_time': 1.21, 'train_step_time': 1.25, 'tflops': 812.1}}\n",
      {"easydel", {10}, {1.25}});
}

TEST(LogDialect, OfModdedNanoGptByTheSumOfItsSteps) {
  expect_steps(
      "step:1/1750 train_time:300ms step_avg:nanms\n"
      "step:2/1750 train_time:400ms step_avg:200.00ms\n"
      "step:2/1750 val_loss:8.2101 train_time:401ms step_avg:200.50ms\n"
      "step:3/1750 train_time:521ms step_avg:173.67ms\n",
      {"modded_nanogpt", {2, 3}, {0.1, 0.12}});
  expect_steps(
      "step:125/3225 val_loss:4.62997 train_time:23.965s step_avg:191.72ms\n"
      "step:250/3225 val_loss:4.09869 train_time:43.840s step_avg:175.36ms\n",
      {"modded_nanogpt", {250}, {0.159}});
}

TEST(LogDialect, OfNanoGptAndItsRelatives) {
  expect_steps("iter 1631: loss 4.0863, time 561.94ms\n", {"nanogpt", {1631}, {0.56194}});
  expect_steps("iter 5: loss nan, time 135.5ms, mfu 17.51%\n", {"nanogpt", {5}, {0.1355}});
  expect_steps(
      "step    10 | loss: 9.512345 | lr 6.0000e-04 | norm: 1.21 | dt: 340.51ms | tok/sec: "
      "1539.02\n",
      {"nanochat", {10}, {0.34051}});
  const JobLog log = expect_steps(
      "step 00010/21400 (0.05%) | loss: 5.131000 | lrm: 1.00 | dt: 1204.50ms | tok/sec: 435,121 | "
      "mfu: 48.10 | total time: 0.20m\n",
      {"nanochat", {10}, {1.2045}});
  EXPECT_DOUBLE_EQ(*log.records[0].tokens_per_s, 435121);
  EXPECT_FALSE(parse_job_log("iter 12: done, time 5 minutes\nwaited, time 12ms\n", "log"));
}

TEST(LogDialect, OfPrimus) {
  const std::string head = "[20260103 10:00:00][rank-7/8][INFO ] [----------trainer.py:1200] : ";
  const JobLog log = expect_steps(
      head +
          "iteration        2/      50 | consumed samples:          256 | elapsed time per "
          "iteration (ms): 8120.5/8200.1 | hip mem usage/free/total/usage_ratio: "
          "100.00GB/91.98GB/191.98GB/52.09% | throughput per GPU (TFLOP/s/GPU): 510.2/508.1 | "
          "tokens per GPU (tokens/s/GPU): 10100.5/10050.0 | global batch size:   128 | lm loss: "
          "1.05E+01 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
      {"primus", {2}, {8.1205}});
  EXPECT_DOUBLE_EQ(*log.records[0].flops_per_s, 510.2e12);
  EXPECT_DOUBLE_EQ(*log.records[0].tokens_per_s_device, 10100.5);
  EXPECT_DOUBLE_EQ(*log.records[0].memory_share, 0.5209);
  EXPECT_TRUE(log.notes.empty());
}

TEST(LogDialect, OfLightningsBars) {
  const JobLog log = expect_steps(
      "Epoch 0/2 ━━━━━━━━━━╸━━━━━ 100/938 0:00:50 • 0:06:59 2.00it/s v_num: 0.000 "
      "train_loss: 0.512\r"
      "Epoch 1/2 ━━━━━━━━━━╸━━━━━ 10/938 0:00:05 • 0:07:42 2.50it/s v_num: 0.000 \r",
      {"lightning", {100, 10}, {0.5, 0.4}});
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 0.512);
  expect_steps("Epoch 0:   1%|1   | 10/1000 [00:01<01:48,  8.00it/s, v_num=0]\r",
               {"lightning", {10}, {0.125}});
}

TEST(LogDialect, ASlowRichBarGivesTheTimeBetweenItsLines) {
  expect_steps(
      "Epoch 0/2 ━━━━ 4/100 0:00:40 • 0:16:40 0.10it/s v_num: 0 \r"
      "Epoch 0/2 ━━━━ 6/100 0:01:06 • 0:16:40 0.09it/s v_num: 0 \r",
      {"lightning", {6}, {13}});
}

TEST(LogDialect, OfLevanter) {
  const JobLog log = expect_steps(
      "2026-03-30T16:24:57 - 0 - tqdm_loggable - INFO :: Progress on:train 19.0it/70.0it "
      "rate:76.8s/it remaining:1:05:15 elapsed:31:40 postfix:loss=2.31\n"
      "2026-03-30T16:26:13 - INFO :: Progress on:train 20.0it/70.0it rate:70.4s/it "
      "remaining:58:40 elapsed:32:50 postfix:loss=2.29\n"
      "2026-03-30T16:26:14 - INFO :: Progress on:eval 3.00it/8.00it rate:2.5it/s remaining:00:02 "
      "elapsed:00:01 postfix:-\n",
      {"levanter", {20}, {70}});
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 2.31);
  expect_steps(
      "Progress on:train 1.20kit/10.0kit rate:0.0it/s remaining:0:0 elapsed:10:00 postfix:-\n"
      "Progress on:train 1.21kit/10.0kit rate:0.0it/s remaining:0:0 elapsed:12:30 postfix:-\n"
      "Progress on:train 1.30kit/10.0kit rate:0.0it/s remaining:0:0 elapsed:35:00 postfix:-\n",
      {"levanter", {1300}, {15}});
}

TEST(LogDialect, ABarOfItsOwnIsNoTrainers) {
  expect_steps(" 10%|#  | 100/1000 [01:23<12:30,  1.25it/s]\n", {"progress_bar", {100}, {0.8}});
}

TEST(LogDialect, OfTheTrainersOfTrlAndAxolotl) {
  const JobLog log = expect_steps(
      "{'loss': 0.0125, 'grad_norm': 0.41, 'learning_rate': 1e-06, 'num_tokens': 8120.0, "
      "'reward': 0.5, 'step_time': 12.25, 'epoch': 0.01}\n"
      "  1%|1  | 1/100 [00:12<20:00, 12.50s/it]\n"
      "{'loss': 0.0121, 'learning_rate': 1e-06, 'step_time': 11.75, 'epoch': 0.02}\n"
      "  2%|1  | 2/100 [00:24<20:00, 12.50s/it]\n",
      {"hugging_face", {-1, 1}, {12.25, 11.75}});
  EXPECT_EQ(log.records.size(), 4U);
  const JobLog axolotl = parsed_dialect(
      "{'loss': '0.7157', 'grad_norm': '12.79', 'learning_rate': '0', 'ppl': '2.046', "
      "'memory/max_allocated (GiB)': '2.5', 'tokens/train_per_sec_per_gpu': '812.5'}\n");
  EXPECT_TRUE(steps_of(axolotl).of_tokens);
  EXPECT_DOUBLE_EQ(*axolotl.records[0].tokens_per_s_device, 812.5);
}

TEST(DeepSpeedChat, ALineHasTheTimeOfAStepAndItsParts) {
  std::string text;
  for (const char* s : {"3.87", "3.93", "3.85"})
    text += "|E2E latency=" + std::string(s) +
            "s |Gather latency=0.00s (0.00%) |Generate time=2.50s (64.47%) |Training time=1.15s "
            "(29.80%) |Others=0.22 (5.73%)|CurSamplesPerSec=16.52 |AvgSamplesPerSec=16.54\n";
  const auto log = parse_job_log(text, "log");
  ASSERT_TRUE(log);
  EXPECT_TRUE(log->notes.empty());
  const LogSteps steps = steps_of(*log);
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_DOUBLE_EQ(steps.steps[0].wall_ns, 3.87e9);
  ASSERT_EQ(log->timers.size(), 3U);
  EXPECT_EQ(log->timers[0].name, "Generate time");
  EXPECT_EQ(log->timers[0].ms, (std::vector<double>{2500, 2500, 2500}));
}

}  // namespace
}  // namespace stepscope
