// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope train`, as typed, and the request that they mean.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/train_request.h"
#include "stepscope/base/result.h"
#include "stepscope/face/help/output_flags.h"

namespace stepscope {

struct TrainFlags {
  TrainRequest request{.transport = ""};  // what needs no reading
  std::string data_format;                // empty: by the file's first bytes
  std::string precision = "f32";
  std::string accumulation_policy = "reduce_each_microstep";
  std::string schedule = "constant";
  std::string on_nan = "stop";
  std::string bucket = "16MiB";
  std::string recompute = "none";
  std::vector<std::string> offload;  // PARTS:DIR
  std::string trace_steps;
  std::vector<std::string> inject;
  std::int64_t ranks = 0;       // 0: the cores
  std::int64_t plan_rank = -1;  // -1: not given
  double peak_tflops = 0;       // 0: measured
  double deadline = 60;         // seconds
  OutputPaths out;
};

void declare(CLI::App& app, TrainFlags& flags);

// Errors are wrong usage: they name the flag and what to write.
[[nodiscard]] Result<TrainRequest> request_of(const TrainFlags& flags);

// --trace-steps wait,warmup,active,repeat. Empty text: two steps off, one of warm-up, then five,
// once.
[[nodiscard]] Result<TraceSchedule> parse_trace_schedule(std::string_view text);

// "slow:1:30%", "sleep:0:5ms", "data:1:20ms", "throttle:50us:1GB", "sync" (all ranks), "sync:1",
// each with "@from-until" behind it where it is not for all steps; "kill:1:backward@5",
// "stop:0:optimizer@2", once.
[[nodiscard]] Result<TrainFault> parse_fault(std::string_view text);

}  // namespace stepscope
