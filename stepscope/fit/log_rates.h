// SPDX-License-Identifier: Apache-2.0
// FLOP rates and MFU that a training log prints, in the convention of this project: the FLOPs of
// the model that each tool counts, over those with causal attention halved
// (cost/model/model_flops.h).
//
//   Megatron-LM   "throughput per GPU (TFLOP/s/GPU)": attention halved, logits of the padded
//                 vocabulary; older versions count all of attention. Where the log says
//                 how long a step takes on how many devices, its own numbers tell which.
//   Megatron-     "TFLOPs": what the hardware does, 72 (with recompute 96) B s L h^2 (1 + s / 6h +
//   DeepSpeed     V / 16 L h); Korthikanti et al. 2022, without their halving of the head
//   torchtitan    "tflops", "mfu": 6 (N - token table) + 12 L h s a token; mfu of the bf16 peak
//   Hugging Face  "total_flos": 6 (N - embeddings) a token
//   stepscope     as here
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/log_account.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/event/job_log.h"

namespace stepscope {

// What is trained, as far as it is known.
struct LogModel {
  std::optional<Transformer> model{};
  std::string source{};                 // "--model" or "the log"
  std::string why_not{};                // where there is none
  std::optional<std::int64_t> batch{};  // sequences a step
  std::optional<std::int64_t> sequence{};
  std::optional<double> devices{};
  bool recompute = false;
};

// From the arguments that Megatron prints. Mixtures of experts and latent attention are refused:
// the arguments do not say all.
[[nodiscard]] LogModel model_of_log(const JobLog& log, const LogAccount& account);

struct LogRate {
  const LogTool* tool = nullptr;
  std::string name;                 // "throughput per GPU", "mfu", "from the step time"
  bool is_mfu = false;              // a share of one; else FLOP/s of one device
  std::optional<double> printed{};  // as the tool prints it; absent where only time is known
  std::string convention{};         // of the tool
  std::optional<double> factor{};   // ours / printed
  std::optional<double> ours{};
  std::optional<double> mfu{};  // of `ours`, where the peak is known
  std::string remark{};
};

struct LogRates {
  std::vector<LogRate> rates{};
  std::optional<double> mfu{};  // the best known of them, in our convention
};

[[nodiscard]] LogRates log_rates(const JobLog& log, const LogSteps& steps,
                                 const LogAccount& account, const LogModel& model,
                                 std::optional<FlopRate> peak);

// A log, and what was made of it.
struct LogFacts {
  JobLog log;
  LogSteps steps;
  LogAccount account;
  LogModel model;
  LogRates rates;
};

}  // namespace stepscope
