// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/read_job_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "stepscope/base/files/text_source.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/log/log_line.h"
#include "stepscope/read/log/step_times.h"

namespace stepscope {
namespace {

using Doubles = std::vector<double>;
using Numbers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

JobLog log_of(std::string_view text) {
  auto log = parse_job_log(text, "log");
  EXPECT_TRUE(log) << log.error().message();
  return log ? std::move(*log) : JobLog{};
}

Doubles walls(const LogSteps& steps) {
  Doubles out;
  for (const LogStep& s : steps.steps) out.push_back(s.wall_ns);
  return out;
}
Numbers iterations(const LogSteps& steps) {
  Numbers out;
  for (const LogStep& s : steps.steps) out.push_back(s.iteration);
  return out;
}
Texts causes(const LogSteps& steps) {
  Texts out;
  for (const LogStep& s : steps.steps) out.push_back(s.cause);
  return out;
}

std::string megatron(int iteration, const std::string& ms,
                     const std::string& loss = "2.345678E+00") {
  return " [2026-01-01 12:00:00.123456] iteration " + std::to_string(iteration) +
         "/   1000 | consumed samples:        25600 | elapsed time per iteration (ms): " + ms +
         " | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 1.000000E-04 | global batch "
         "size:   256 | lm loss: " +
         loss +
         " | loss scale: 1.0 | grad norm: 1.234 | number of skipped iterations:   1 | number of "
         "nan "
         "iterations:   0 |\n";
}

TEST(JobLog, OfMegatron) {
  const JobLog log = log_of(
      "  hidden_size ..................................... 768\n"
      "  world_size ...................................... 8\n"
      " > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)\n" +
      megatron(100, "1234.5") + "hello\n" + megatron(110, "1240.5") +
      "(min, max) time across ranks (ms):\n"
      "    forward-backward ...............................: (1203.11, 1204.56)\n"
      "    optimizer ......................................: 12.25\n"
      "times across ranks (ms):\n  forward-compute:\n     rank  0: 1.25\n     rank  1: 2.5\n"
      "time (ms) | forward-compute: 340.72 | optimizer: 313.71\n");
  EXPECT_EQ(log.settings.at("hidden_size"), "768");
  EXPECT_EQ(log.settings.at("world_size"), "8");
  EXPECT_EQ(log.settings.at("padded_vocab_size"), "50304");
  ASSERT_EQ(log.records.size(), 2U);
  const LogRecord& r = log.records[0];
  EXPECT_EQ(r.tool->name, "megatron");
  EXPECT_EQ(r.iteration, 100);
  EXPECT_DOUBLE_EQ(*r.wall_ns, 1234.5e6);
  EXPECT_DOUBLE_EQ(*r.flops_per_s, 412.3e12);
  EXPECT_DOUBLE_EQ(*r.batch, 256);
  EXPECT_DOUBLE_EQ(*r.loss, 2.345678);
  EXPECT_EQ(r.skipped, 1);
  EXPECT_EQ(r.stamp->count() % 1'000'000'000, 123'456'000);
  ASSERT_EQ(log.timers.size(), 3U);
  EXPECT_EQ(log.timers[0].name, "forward-backward");
  EXPECT_EQ(log.timers[0].ms, Doubles{1204.56});
  EXPECT_EQ(log.timers[1].ms, (Doubles{12.25, 313.71}));
  EXPECT_EQ(log.timers[2].name, "forward-compute");
  EXPECT_EQ(log.timers[2].ms, (Doubles{1.25, 2.5, 340.72}));
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "megatron");
  EXPECT_EQ(walls(steps), (Doubles{1234.5e6, 1240.5e6}));
  EXPECT_EQ(steps.steps[0].steps, 10);
  EXPECT_EQ(steps.steps[1].steps, 10);
}

TEST(JobLog, OfMegatronDeepSpeed) {
  const JobLog log = log_of(
      "[2024-03-07 15:27:02,646] [INFO] [timer.py:260:stop] "
      "epoch=0/micro_step=199/global_step=199, "
      "RunningAvgSamplesPerSec=58.73, CurrSamplesPerSec=61.5, MemAllocated=6.01GB, "
      "MaxMemAllocated=19.5GB\n"
      " iteration      199/  317892 | consumed samples:       152832 | consumed tokens:    "
      "625999872 "
      "| elapsed time per iteration (ms): 14287.5 | global batch size:   768 | lm loss: "
      "5.905366E+00 | actual seqlen:  4096 | samples per second: 53.753 | tokens per gpu per "
      "second "
      "(tgs): 1146.733 | TFLOPs: 69.85 |\n");
  ASSERT_EQ(log.records.size(), 2U);
  EXPECT_EQ(log.records[0].tool->name, "deepspeed");
  EXPECT_EQ(log.records[0].iteration, 199);
  EXPECT_DOUBLE_EQ(*log.records[0].samples_per_s, 61.5);
  EXPECT_DOUBLE_EQ(*log.records[0].memory_bytes, 19.5 * 1073741824);  // the log's GB are GiB
  EXPECT_DOUBLE_EQ(*log.records[1].flops_per_s, 69.85e12);
  EXPECT_DOUBLE_EQ(*log.records[1].tokens_per_s_device, 1146.733);
  EXPECT_EQ(log.settings.at("rate_field"), "TFLOPs");
  EXPECT_EQ(log.settings.at("seq_length"), "4096");
  // The time is for 768 sequences.
  EXPECT_NEAR(768 / (*log.records[1].wall_ns / 1e9), *log.records[1].samples_per_s, 0.001);
  EXPECT_EQ(steps_of(log).tool->name, "megatron");
}

TEST(JobLog, OfDeepSpeedComesFromItsTimeStamps) {
  const auto line = [](int second, int step) {
    return "[2022-08-29 06:59:" + std::to_string(second) + ",500] [INFO] [timer.py:198:stop] 0/" +
           std::to_string(step) +
           ", RunningAvgSamplesPerSec=230.8, CurrSamplesPerSec=227.4, MemAllocated=0.36GB, "
           "MaxMemAllocated=15.06GB\n";
  };
  const JobLog log = log_of(line(10, 10) + line(33, 20) +
                            "[2022-08-29 06:59:34,100] Saving the "
                            "checkpoint now\n" +
                            line(57, 30));
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "deepspeed");
  EXPECT_EQ(walls(steps), (Doubles{2.3e9, 2.4e9}));
  EXPECT_EQ(iterations(steps), (Numbers{20, 30}));
  EXPECT_EQ(steps.steps[0].steps, 10);
  EXPECT_EQ(causes(steps), (Texts{"", "checkpoint"}));
}

TEST(JobLog, OfTwoToolsBothLearnOfACheckpoint) {
  const auto deepspeed = [](int second, int step) {
    return "[2026-01-01 12:00:" + std::to_string(second) + ",500] [INFO] [timer.py:198:stop] 0/" +
           std::to_string(step) + ", RunningAvgSamplesPerSec=230.8, CurrSamplesPerSec=227.4\n";
  };
  const JobLog log =
      log_of(deepspeed(10, 10) + megatron(10, "100.5") +
             "[2026-01-01 12:00:11,100] Saving the checkpoint now\n" + deepspeed(12, 20) +
             megatron(20, "300.5") + deepspeed(13, 30) + megatron(30, "100.5"));
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "megatron");
  EXPECT_EQ(causes(steps), (Texts{"", "checkpoint", ""}));
}

TEST(JobLog, OfDeepSpeedsTimersWhereNothingElseTells) {
  const std::string front = "[2026-01-01 12:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] ";
  const JobLog log =
      log_of(front + "time (ms) | fwd_microstep: 12.5 | bwd_microstep: 34.5\n" + front +
             "time (ms) | fwd: 25.0 | bwd: 69.0 | bwd_inner: 60.0 | step: 6.0\n" + front +
             "time (ms) | fwd: 26.0 | bwd: 70.0 | bwd_inner: 60.0 | step: 5.0\n");
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "deepspeed");
  EXPECT_EQ(walls(steps), (Doubles{100e6, 101e6}));
  ASSERT_EQ(log.timers.size(), 6U);
  EXPECT_EQ(log.timers[0].tool->name, "deepspeed");
}

TEST(JobLog, DeepSpeedsTablesOfCommunication) {
  const JobLog log = log_of(
      "Comm. Op            Message Size        Count               Total Latency(ms)   Avg "
      "Latency(ms)"
      "     tput_avg (Gbps)     busbw_avg (Gbps)\n"
      "broadcast\n"
      "                    2.0 KB              146                 11.12               0.08"
      "                0.43                0.41\n"
      "                    98.25 MB            1                   8317.12             8317.12"
      "             0.20                0.19\n"
      "all_reduce\n"
      "                    0B                  2                   1.0                 0.5"
      "                 0.0                 0.0\n"
      "\n"
      "step done\n" +
      std::string("comm op: reduce_scatter_tensor | time (ms): 2.0 | msg size: 678.86 MB | algbw "
                  "(Gbps): 12.0 | busbw (Gbps): 10.5 \n"
                  "comm op: reduce_scatter_tensor | time (ms): 4.0 | msg size: 678.86 MB | algbw "
                  "(Gbps): 6.0 | busbw (Gbps): 5.5 \n"));
  ASSERT_EQ(log.communication.size(), 4U);
  EXPECT_EQ(log.communication[0].operation, "broadcast");
  EXPECT_EQ(log.communication[0].size, "2.0 KB");
  EXPECT_EQ(log.communication[0].count, 146);
  EXPECT_DOUBLE_EQ(log.communication[1].total_ms, 8317.12);
  EXPECT_EQ(log.communication[2].size, "0B");
  EXPECT_EQ(log.communication[3].count, 2);
  EXPECT_DOUBLE_EQ(log.communication[3].calls_ms, 3);
  EXPECT_DOUBLE_EQ(log.communication[3].printed_algbw_gbit, 9);
  EXPECT_DOUBLE_EQ(log.communication[3].printed_busbw_gbit, 8);
}

TEST(JobLog, DeepSpeedsFlopsProfiler) {
  const JobLog log = log_of(
      "-------------------------- DeepSpeed Flops Profiler --------------------------\n"
      "Profile Summary at step 10:\n"
      "Notations:\n"
      "data parallel size (dp_size), model parallel size(mp_size),\n\n"
      "world size:                                                   8\n"
      "data parallel size:                                           4\n"
      "model parallel size:                                          2\n"
      "batch size per GPU:                                           16\n"
      "params per GPU:                                               1.24 B\n"
      "fwd MACs per GPU:                                             4.1 TMACs\n"
      "fwd flops per GPU:                                            8.2 T\n"
      "fwd latency:                                                  123.4 ms\n"
      "fwd FLOPS per GPU = fwd flops per GPU / fwd latency:          66.45 TFLOPS\n"
      "bwd latency:                                                  246.8 ms\n"
      "fwd+bwd FLOPS per GPU = 3 * fwd flops per GPU / (fwd+bwd latency):   66.45 TFLOPS\n"
      "step latency:                                                 9.8 ms\n"
      "iter latency:                                                 380 ms\n"
      "samples/second:                                               168.42\n\n"
      "----------------------------- Aggregated Profile per GPU -----------------------------\n"
      "depth 0:\n    params      - {'GPT': '1.24 B'}\n");
  ASSERT_EQ(log.profiles.size(), 1U);
  const LogFlopsProfile& p = log.profiles[0];
  EXPECT_EQ(p.step, 10);
  EXPECT_DOUBLE_EQ(*p.world, 8);
  EXPECT_DOUBLE_EQ(*p.data_parallel, 4);
  EXPECT_DOUBLE_EQ(*p.micro_batch, 16);
  EXPECT_DOUBLE_EQ(*p.parameters, 1.24e9);
  EXPECT_DOUBLE_EQ(*p.forward_macs, 4.1e12);
  EXPECT_DOUBLE_EQ(*p.forward_flops, 8.2e12);
  EXPECT_DOUBLE_EQ(*p.forward_s, 0.1234);
  EXPECT_DOUBLE_EQ(*p.printed_forward_rate, 66.45e12);
  EXPECT_DOUBLE_EQ(*p.iteration_s, 0.38);
  EXPECT_DOUBLE_EQ(*p.printed_samples_per_s, 168.42);
  const LogSteps steps = steps_of(log);
  ASSERT_EQ(steps.steps.size(), 1U);
  EXPECT_EQ(steps.steps[0].iteration, 10);
  EXPECT_DOUBLE_EQ(steps.steps[0].wall_ns, 380e6);
}

std::string titan(const std::string& rank, const std::string& second, int step) {
  return rank + "\x1b[0m[titan] 2025-03-06 15:42:" + second +
         " - root - INFO - \x1b[31mstep: " + std::to_string(step) +
         "  \x1b[32mloss:  9.8934  \x1b[33mgrad_norm:  1.2345  \x1b[36mmemory: 47.61GiB(60.15%)  "
         "\x1b[34mtps: 2,793  \x1b[36mtflops: 161.76  \x1b[35mmfu: 51.85%\x1b[39m\n";
}

TEST(JobLog, OfTorchtitanWithColours) {
  const JobLog log = log_of(
      "[rank0]:[titan] 2025-03-06 15:42:00,000 - root - INFO - Building 2-D device mesh with "
      "['dp_shard', 'tp'], [4, 2]\n"
      "[rank0]:[titan] 2025-03-06 15:42:00,000 - root - INFO - CUDA capacity: NVIDIA H100 80GB "
      "HBM3 "
      "with 79.10GiB memory\n"
      "[rank0]:[titan] 2025-03-06 15:42:01,000 - root - INFO - Peak FLOPS used for computing MFU: "
      "9.890e+14\n"
      "[rank0]:[titan] 2025-03-06 15:42:02,000 - root - INFO - Training starts at step 1, with "
      "local batch size 1, global batch size 8, sequence length 8192, total steps 1000 (warmup "
      "200)\n" +
      titan("[rank0]:", "10,000", 1) + titan("[rank1]:", "10,000", 1) +
      titan("[rank0]:", "39,300", 11) + titan("[rank1]:", "39,400", 11) +
      "[rank0]:[titan] 2025-03-06 15:42:50,808 - root - INFO - validate step: 11  loss: 3.0  "
      "memory: 47.61GiB(60.15%)  tps: 2,793\n" +
      titan("[rank0]:", "59,300", 21) + titan("[rank1]:", "59,200", 21));
  EXPECT_EQ(log.settings.at("world_size"), "8");
  EXPECT_EQ(log.settings.at("gpu"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(std::stod(log.settings.at("mfu_peak")), 989e12);
  EXPECT_EQ(log.settings.at("global_batch_size"), "8");
  EXPECT_EQ(log.settings.at("seq_length"), "8192");
  ASSERT_EQ(log.records.size(), 6U);
  const LogRecord& r = log.records[0];
  EXPECT_DOUBLE_EQ(*r.tokens_per_s_device, 2793);
  EXPECT_DOUBLE_EQ(*r.flops_per_s, 161.76e12);
  EXPECT_DOUBLE_EQ(*r.mfu, 0.5185);
  EXPECT_DOUBLE_EQ(*r.loss, 9.8934);
  EXPECT_DOUBLE_EQ(*r.memory_bytes, 47.61 * 1073741824);
  EXPECT_DOUBLE_EQ(*r.memory_share, 0.6015);
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(walls(steps), (Doubles{2.94e9, 2.0e9}));  // the times of the slower rank
  EXPECT_EQ(iterations(steps), (Numbers{11, 21}));
  EXPECT_EQ(steps.ranks, (std::vector<std::int32_t>{0, 1}));
}

TEST(JobLog, OfTheHuggingFaceTrainer) {
  const JobLog log = log_of(
      "Loading checkpoint shards: 100%|####| 4/4 [00:05<00:00,  1.25s/it]\r"
      "  1%|1         | 1/100 [00:01<?, ?it/s]\r"
      "  2%|1         | 2/100 [00:02<01:20,  1.25it/s]\r"
      "  3%|1         | 3/100 [00:03<01:20,  1.60it/s]\n"
      "{'loss': 1.2345, 'grad_norm': 0.98, 'learning_rate': 4.9e-05, 'epoch': 0.1}\n"
      " 50%|##   | 5/10 [00:01<00:01,  5.00it/s]\n"
      "{'eval_loss': 1.5, 'eval_runtime': 2.0, 'epoch': 0.1}\n"
      "  4%|1         | 4/100 [00:06<03:20,  2.00s/it]\n"
      "{'loss': '1.2', 'grad_norm': 'nan', 'epoch': '0.2'}\n"
      "{'train_runtime': 123.4, 'train_samples_per_second': 12.3, 'train_steps_per_second': 0.81, "
      "'train_loss': 1.5, 'epoch': 1.0}\n");
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "hugging_face");
  EXPECT_EQ(walls(steps), (Doubles{0.8e9, 0.625e9, 2e9}));
  EXPECT_EQ(iterations(steps), (Numbers{2, 3, 4}));
  EXPECT_EQ(causes(steps), (Texts{"", "", "eval"}));
  EXPECT_EQ(log.notes.at("lines_of_other_progress_bars"), 1U);
  EXPECT_EQ(log.notes.at("lines_of_loading_bars"), 1U);
  Doubles losses;
  Numbers at;
  for (const LogRecord& r : log.records)
    if (r.loss) {
      losses.push_back(*r.loss);
      at.push_back(r.iteration);
    }
  EXPECT_EQ(losses, (Doubles{1.2345, 1.2}));
  EXPECT_EQ(at, (Numbers{3, 4}));
  EXPECT_DOUBLE_EQ(*log.run_s, 123.4);
  EXPECT_DOUBLE_EQ(*log.run_samples_per_s, 12.3);
}

TEST(JobLog, OfTrainerStateJson) {
  const JobLog log = log_of(
      R"({"best_metric": null, "log_history": [{"epoch": 0.1, "loss": 2.5, "step": 10},
          {"epoch": 0.2, "eval_loss": 2.25, "step": 15},
          {"epoch": 0.2, "loss": 2.0, "step": 20},
          {"train_runtime": 50.0, "train_steps_per_second": 0.4, "step": 20, "total_flos": 1e15}],
          "total_flos": 1e15})");
  ASSERT_EQ(log.records.size(), 2U);
  EXPECT_EQ(log.records[1].iteration, 20);
  EXPECT_DOUBLE_EQ(*log.run_flops, 1e15);
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(walls(steps), Doubles{2.5e9});
  EXPECT_EQ(steps.steps[0].steps, 20);
  EXPECT_EQ(steps.how, "train_runtime / its steps");
  EXPECT_FALSE(parse_job_log(R"({"best_model_checkpoint": 3})", "x"));
}

TEST(JobLog, OfStepscopeTrainAndOfNamedTimes) {
  const JobLog log = log_of(
      "step     3  loss 4.2242  norm 6.006  lr 3.00e-04    412.345 ms    571 tokens/s    0.1 % "
      "MFU\n"
      "step     4  loss 4.1000  norm 6.006  lr 3.00e-04    400.000 ms  12.6 k tokens/s\n");
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "stepscope");
  EXPECT_EQ(walls(steps), (Doubles{412.345e6, 400e6}));
  EXPECT_EQ(iterations(steps), (Numbers{3, 4}));
  EXPECT_DOUBLE_EQ(*log.records[0].mfu, 0.001);
  EXPECT_DOUBLE_EQ(*log.records[0].tokens_per_s, 571);
  EXPECT_DOUBLE_EQ(*log.records[1].tokens_per_s, 12600);
  const LogSteps named =
      steps_of(log_of("step 3: step_time_ms=12.5, loss=3\n{\"step\": 4, \"step_time_s\": 0.02}\n"));
  EXPECT_EQ(walls(named), (Doubles{12.5e6, 0.02e9}));
  EXPECT_EQ(iterations(named), (Numbers{3, 4}));
  const LogSteps behind = steps_of(
      log_of("step_time: 0.5 s\nstep_time=12.5ms\niter_time: 3 µs\nstep_time = 60.0  # seconds\n"
             "step_time: 7\nstep_time=8 s=3\nstep_time_ms: 9 s\n"));
  EXPECT_EQ(walls(behind), (Doubles{0.5e9, 12.5e6, 3e3, 60e9, 7e6, 8e6, 9e6}));
}

TEST(LogLine, NumbersAreTheNearestDoubles) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200000; ++round) {
    std::string text = random() % 4 == 0 ? "-" : "";
    text += std::to_string(random() >> random() % 64);
    if (random() % 2 == 0) text += "." + std::to_string(random() >> random() % 64);
    if (random() % 4 == 0) {
      const auto places = std::to_string(random() % 31);
      text += (random() % 2 == 0 ? "e-" : "E+") + (places.size() < 2 ? "0" + places : places);
    }
    const auto value = clean_number(text);
    ASSERT_TRUE(value) << text;
    ASSERT_EQ(*value, std::strtod(text.c_str(), nullptr)) << text;
  }
  EXPECT_EQ(clean_number("2,793"), 2793);
  EXPECT_EQ(clean_number("  5. "), 5);
  EXPECT_EQ(clean_number("-0"), 0);
  for (const char* none : {"", "-", "1.2.3", "1e5e", "12x", "1,23", "1-2", "e5"})
    EXPECT_FALSE(clean_number(none)) << none;
}

TEST(JobLog, ASettingThatIsNoNumberIsNone) {
  const JobLog log = log_of(
      "Training starts at step 1, with local batch size 1, global batch size nan, sequence length "
      "2048\n"
      "[titan] 2025-03-06 10:00:00,808 - root - INFO - step: 1  loss:  9.8934  tps: 2,793\n");
  EXPECT_FALSE(log.settings.contains("global_batch_size"));
  EXPECT_EQ(log.settings.at("seq_length"), "2048");
}

TEST(JobLog, OfNeMo) {
  const JobLog log = log_of(
      "Training epoch 0, iteration 0/9 | lr: 3e-05 | consumed_samples: 32 | global_batch_size: 32 "
      "| "
      "global_step: 0 | reduced_train_loss: 11.02 | train_step_timing in s: 7.633\n"
      "Training epoch 0, iteration 1/9 | lr: 3e-05 | global_batch_size: 32 | global_step: 1 | "
      "reduced_train_loss: nan | train_step_timing in s: 7.5 | val_loss: 4.106\n"
      "Training epoch 0, iteration 2/9 | global_step: 2 | train_step_timing in s: 7.Training\n"
      "Epoch 0:   1%|1 | 3/999 [00:30<1:01:02,  7.70s/it, v_num=, reduced_train_loss=3.090, "
      "global_step=3.000, consumed_samples=1.6e+6, train_step_timing in s=7.710]\r");
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "nemo");
  EXPECT_EQ(walls(steps), (Doubles{7.633e9, 7.5e9, 7.71e9}));
  EXPECT_EQ(iterations(steps), (Numbers{0, 1, 3}));
  EXPECT_DOUBLE_EQ(*log.records[0].batch, 32);
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 11.02);
  EXPECT_EQ(log.records[1].not_finite, 1);
  EXPECT_EQ(log.notes.at("records_cut"), 1U);
}

TEST(JobLog, OfMaxText) {
  const JobLog log = log_of(
      "I0811 21:54:55.531340 1383 metric_logger.py:226] completed step: 1, seconds: 0.631, "
      "TFLOP/s/device: 5688.282, Tokens/s/device: 311629.521, total_weights: 1572864, loss: "
      "12.979, "
      "lm_loss: 12.979\n"
      "completed step: 15107, seconds: 2.167, TFLOP/s: 36.722, loss: 2.191\n"
      "completed step: 15108, secoompleted step: 15109, seconds: 2.1\n");
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "maxtext");
  EXPECT_EQ(walls(steps), (Doubles{0.631e9, 2.167e9}));
  EXPECT_EQ(iterations(steps), (Numbers{1, 15107}));
  EXPECT_EQ(log.notes.at("records_cut"), 1U);
  EXPECT_DOUBLE_EQ(*log.records[0].flops_per_s, 5688.282e12);
  EXPECT_DOUBLE_EQ(*log.records[0].tokens_per_s_device, 311629.521);
  EXPECT_DOUBLE_EQ(*log.records[0].loss, 12.979);
  EXPECT_DOUBLE_EQ(*log.records[1].flops_per_s, 36.722e12);
}

TEST(JobLog, OfLlmC) {
  const JobLog log = log_of(
      "| sequence length T     | 1024                                               |\n"
      "| total batch size      | 524288                                             |\n"
      "| peak TFlops           | 989.4                                              |\n"
      "| padded_vocab_size Vp  | 50304                                              |\n"
      "| num_layers L          | 12                                                 |\n"
      "| num_heads NH          | 12                                                 |\n"
      "| channels C            | 768                                                |\n"
      "| num_parameters        | 124475904                                          |\n"
      "| num_processes         | 8                                                  |\n"
      "step    1/18865 | loss 10.964996 (+nanz)| norm 31.6 (+nanz)| lr 2.52e-06 | 521.40 ms | "
      "-100.0% bf16 MFU | 100604 tok/s\n"
      "val loss 10.9\n"
      "step    2/18865 | loss 10.9 (+0.1z)| norm 31.6 (+0.2z)| lr 2.52e-06 | 500.00 ms | "
      "10.6% bf16 MFU | 1048576 tok/s\n"
      "step    3/18865 | loss 1step    4/18865 | loss 9.5 | 510.00 ms | 1 tok/s\n");
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "llm_c");
  EXPECT_EQ(walls(steps), (Doubles{521.4e6, 500e6, 510e6}));
  EXPECT_EQ(iterations(steps), (Numbers{1, 2, 4}));
  EXPECT_EQ(causes(steps), (Texts{"", "eval", ""}));
  EXPECT_DOUBLE_EQ(*log.records[2].loss, 9.5);
  EXPECT_FALSE(log.records[0].mfu);
  EXPECT_DOUBLE_EQ(*log.records[1].mfu, 0.106);
  EXPECT_DOUBLE_EQ(*log.records[1].tokens_per_s, 1048576);
  EXPECT_EQ(log.settings.at("num_layers"), "12");
  EXPECT_EQ(log.settings.at("num_parameters"), "124475904");
  EXPECT_EQ(log.settings.at("global_batch_size"), "512");
  EXPECT_EQ(log.settings.at("world_size"), "8");
  const JobLog python = log_of(
      "step    1/12 | train loss 10.918021 | norm 50.7551 | lr 1.00e-04 | (12214.81 ms | 3 tok/s)\n"
      "step    2/12 | train loss 8.010619 | norm 22.0033 | lr 1.00e-04 | (7650.48 ms | 4 tok/s)\n");
  EXPECT_EQ(walls(steps_of(python)), (Doubles{12214.81e6, 7650.48e6}));
  EXPECT_DOUBLE_EQ(*python.records[1].loss, 8.010619);
  EXPECT_DOUBLE_EQ(*python.records[1].tokens_per_s, 4);
}

TEST(JobLog, OfNanoGpt) {
  const JobLog log = log_of(
      "step 0: train loss 10.9886, val loss 10.9888\n"
      "iter 0: loss 10.9889, time 23456.78ms, mfu -100.00%\n"
      "iter 10: loss 10.1, time 135.12ms, mfu 17.51%\n"
      "iter 20: loss 9.9, time 13iter 30: loss 9, time 136.00ms, mfu 17.5%\n");
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(steps.tool->name, "nanogpt");
  EXPECT_EQ(walls(steps), (Doubles{23456.78e6, 135.12e6, 136e6}));
  EXPECT_EQ(iterations(steps), (Numbers{0, 10, 30}));
  EXPECT_EQ(causes(steps), (Texts{"eval", "", ""}));
  EXPECT_FALSE(log.records[0].mfu);
  EXPECT_DOUBLE_EQ(*log.records[1].mfu, 0.1751);
  EXPECT_DOUBLE_EQ(*log.records[1].loss, 10.1);
}

TEST(JobLog, ABarMayEndInWordsOfTheProgram) {
  const LogSteps steps = steps_of(
      log_of("Epoch 0:   1%|1   | 10/1000 [00:01<01:48,  8.00it/s, v_num=0, train_loss=2.31]\r"
             "Epoch 0:   2%|2   | 20/1000 [00:02<01:48,  4.00s/it, loss=1/2]\r"
             "Epoch 1:   1%|1   | 10/1000 [00:01<01:48,  5.00it/s, v_num=0]\r"));
  EXPECT_EQ(walls(steps), (Doubles{1e9 / 8, 4e9, 1e9 / 5}));
  EXPECT_EQ(iterations(steps), (Numbers{10, 20, 10}));
  EXPECT_EQ(causes(steps), (Texts{"", "", ""}));  // the next epoch is not a restart
}

TEST(JobLog, ARestartBeginsAnotherLaunch) {
  const LogSteps steps =
      steps_of(log_of(megatron(10, "900") + megatron(20, "500") + megatron(30, "501") +
                      megatron(20, "800") + megatron(30, "502")));
  EXPECT_EQ(walls(steps), (Doubles{900e6, 500e6, 501e6, 800e6, 502e6}));
  EXPECT_EQ(steps.launches, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(causes(steps), (Texts{"", "", "", "restart", ""}));
  // The arguments are printed again, so the same step number starts another launch.
  const LogSteps again = steps_of(log_of(megatron(10, "900") + "  num_layers ........ 12\n" +
                                         megatron(10, "901") + megatron(20, "500")));
  EXPECT_EQ(again.launches, (std::vector<std::size_t>{0, 1}));
}

TEST(JobLog, LinesCutIntoOneAnother) {
  // Two records in a line, a record that another writer cut, and a truncated number.
  std::string two = megatron(10, "500");
  two.pop_back();
  const JobLog log =
      log_of(two + megatron(20, "501") + "[rank3]:[W] warning" + megatron(30, "502") +
             " iteration 40/ 1000 | elapsed time per iteration (ms): 50[rank3]: oh\n" +
             " consumed samples: 7 | elapsed time per iteration (ms): 503.0 | lm loss: "
             "1.0\n");
  const LogSteps steps = steps_of(log);
  EXPECT_EQ(walls(steps), (Doubles{500e6, 501e6, 502e6, 503e6}));
  EXPECT_EQ(iterations(steps), (Numbers{10, 20, 30, -1}));
  EXPECT_EQ(log.notes.at("records_cut"), 2U);
  EXPECT_GE(log.notes.at("fields_not_understood"), 1U);
  EXPECT_EQ(steps.left_out, 1U);
}

TEST(JobLog, RanksInterleaved) {
  const auto line = [](int rank, int step, const char* ms) {
    return "[rank" + std::to_string(rank) + "]: step " + std::to_string(step) +
           " step_time_ms=" + ms + "\n";
  };
  const LogSteps steps = steps_of(log_of(line(0, 1, "5") + line(1, 1, "7") + line(1, 2, "6") +
                                         line(0, 2, "8") + line(0, 3, "5") + line(1, 3, "4")));
  EXPECT_EQ(walls(steps), (Doubles{7e6, 8e6, 5e6}));
  EXPECT_EQ(steps.ranks, (std::vector<std::int32_t>{0, 1}));
}

TEST(JobLog, LossesThatAreNoNumberAreCounted) {
  const JobLog log = log_of(megatron(10, "500", "nan") + megatron(20, "500", "inf"));
  EXPECT_EQ(log.records[0].not_finite, 1);
  EXPECT_EQ(log.records[1].not_finite, 1);
  EXPECT_TRUE(std::isnan(*log.records[0].loss));
  EXPECT_TRUE(std::isinf(*log.records[1].loss));
}

TEST(JobLog, AmountsThatAreNotFiniteAreLeftOutAndCounted) {
  std::string line = megatron(10, "500");
  line.replace(line.find("412.3"), 5, "inf");
  const JobLog log = log_of(line + megatron(20, "500") + megatron(30, "1e300"));
  EXPECT_FALSE(log.records[0].flops_per_s);
  EXPECT_TRUE(log.records[0].wall_ns);
  EXPECT_TRUE(log.records[1].flops_per_s);
  EXPECT_FALSE(log.records[2].wall_ns);
  EXPECT_EQ(log.notes.at("fields_not_understood"), 2U);
}

TEST(JobLog, WhatReportsOnNoStepIsRefused) {
  for (const char* text : {"", "hello\n", "step loss time\n", "\n\n\r\r\n"}) {
    const auto log = parse_job_log(text, "x.log");
    ASSERT_FALSE(log) << text;
    EXPECT_NE(log.error().message().find("x.log: names no step time"), std::string::npos);
  }
}

TEST(JobLog, OfTimersOnlyIsRefusedWithThem) {
  const auto log = parse_job_log(
      "time (ms) | fwd_microstep: 193.6 | bwd_microstep: 330.2 | step_microstep: 0.9\n", "x.log");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().message().find(
                "x.log: has timers of DeepSpeed (fwd_microstep 194 ms, bwd_microstep 330 ms, "
                "step_microstep 0.9 ms: medians), and no time of a whole step; give the whole log"),
            0U)
      << log.error().message();
}

TEST(JobLog, WindowsOfTheFileChangeNothing) {
  std::string text;
  for (int i = 1; i <= 9000; ++i)
    text += megatron(i, std::to_string(400 + i % 7)) + "other words\n";
  TextSource source(text);
  const auto log = read_job_log(source, "log");
  ASSERT_TRUE(log);
  EXPECT_EQ(walls(steps_of(*log)), walls(steps_of(log_of(text))));
  EXPECT_EQ(log->records.size(), 9000U);
  EXPECT_EQ(log->text_bytes, text.size());
}

// A large file ends at the first request to stop.
TEST(StoppedReading, OfLogsTimesAndTextsIsAnInterruption) {
  StopFlag stop;
  stop.request();
  const std::string path = testing::TempDir() + "stopped_" + std::to_string(getpid()) + ".txt";
  std::ofstream(path) << "step 1 took 10 ms\nstep 2 took 10 ms\n";
  EXPECT_EQ(read_job_log(path, TimeUnit::ms, &stop).error().code, ErrorCode::interrupted);
  EXPECT_EQ(read_step_times(path, TimeUnit::ms, &stop).error().code, ErrorCode::interrupted);
  EXPECT_EQ(read_text_file(path, &stop).error().code, ErrorCode::interrupted);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace stepscope
