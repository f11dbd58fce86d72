// SPDX-License-Identifier: Apache-2.0
// One reader of lines for each tool whose logs are read. Each takes a line in which its words stand
// and says whether it was its own. What the lines look like: docs/reference/inputs.md.
#pragma once

#include "stepscope/base/result.h"
#include "stepscope/read/log/log_line.h"

namespace stepscope {

// " iteration 100/ 1000 | consumed samples: … | elapsed time per iteration (ms): 1234.5 | …", of
// Megatron-LM and Megatron-DeepSpeed.
bool take_megatron_record(const LogLine& line, LogState& state);
// "time (ms) | forward-compute: 340.72 | …", "    forward-backward ....: (1203.11, 1204.56)".
bool take_timers(const LogLine& line, LogState& state);
// "  hidden_size ........ 768": arguments that say what is trained, on what.
bool take_setting(const LogLine& line, LogState& state);

// "… global_step=10, RunningAvgSamplesPerSec=…, CurrSamplesPerSec=…, MaxMemAllocated=20.2GB".
bool take_deepspeed_throughput(const LogLine& line, LogState& state);
// "comm op: all_reduce | time (ms): 1.23 | msg size: 678.86 MB | algbw (Gbps): … | busbw (Gbps):
// …".
bool take_deepspeed_operation(const LogLine& line, LogState& state);
// A line of a table of DeepSpeed, whose title was seen; false where the table has ended.
bool take_deepspeed_table(const LogLine& line, LogState& state);

// "step: 10  loss:  9.8934  …  tps: 2,793  tflops: 161.76  mfu: 51.85%".
bool take_torchtitan_record(const LogLine& line, LogState& state);
// What it says before the first step: batch, sequence, mesh, device, peak.
bool take_torchtitan_start(const LogLine& line, LogState& state);

// "{'loss': 1.2345, …}", "{'train_runtime': …}".
bool take_hugging_face_dict(const LogLine& line, LogState& state);
// " 10%|█  | 100/1000 [01:23<12:30,  1.20it/s]".
bool take_progress_bar(const LogLine& line, LogState& state);
// trainer_state.json. Error: no log_history in it.
Result<Done> take_trainer_state(std::string_view text, std::string_view path, JobLog& log);

// "Training epoch 0, iteration 4/999 | global_step: 4 | … | train_step_timing in s: 7.633".
bool take_nemo_record(const LogLine& line, LogState& state);

// "completed step: 9, seconds: 1.341, TFLOP/s/device: 257.929, Tokens/s/device: 36653.244, …, loss:
// 10.374".
bool take_maxtext_record(const LogLine& line, LogState& state);

// "step    3/18865 | loss 10.96 (+nanz)| … | 521.40 ms | 48.7% bf16 MFU | 100604 tok/s" of llm.c,
// "step    1/12 | train loss 10.91 | … | (121.81 ms | 3 tok/s)" of its Python twin.
bool take_llmc_record(const LogLine& line, LogState& state);
// "| num_layers L          | 12     |".
bool take_llmc_setting(const LogLine& line, LogState& state);
// "iter 100: loss 3.2145, time 135.12ms, mfu 17.51%".
bool take_nanogpt_record(const LogLine& line, LogState& state);

// "step     3  loss 4.2242  …  412.345 ms  571 tokens/s", of stepscope train.
bool take_stepscope_record(const LogLine& line, LogState& state);
// "step 3: step_time_ms=12.5", also as JSON.
bool take_named_time(const LogLine& line, LogState& state);

}  // namespace stepscope
