// SPDX-License-Identifier: Apache-2.0
// FLOP rates and MFU printed in a training log, converted to this project's convention: the model
// FLOPs counted by each tool, relative to those with causal attention halved
// (cost/model/model_flops.h).
//
//   Megatron-LM   "throughput per GPU (TFLOP/s/GPU)": attention halved, logits of the padded
//                 vocabulary. Older versions count all of attention. If the log has the time and
//                 devices of a step, its own numbers show which.
//   Megatron-     "TFLOPs": hardware FLOPs, 72 (with recompute 96) B s L h^2 (1 + s / 6h +
//   DeepSpeed     V / 16 L h); Korthikanti et al. 2022, without their halving of the head
//   torchtitan    "tflops", "mfu": 6 (N - token table) + 12 L h s a token; mfu of the bf16 peak
//   Hugging Face  "total_flos": 6 (N - embeddings) a token
//   stepscope     this project's convention
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/log_account.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/event/job_log.h"
#include "stepscope/say/message.h"

namespace stepscope {

// The trained model, as far as it is known.
struct LogModel {
  std::optional<Transformer> model{};
  std::string source{};                 // "--model" or "the log"
  std::string why_not{};                // reason if there is no model
  std::optional<std::int64_t> batch{};  // sequences per step
  std::optional<std::int64_t> sequence{};
  std::optional<double> devices{};
  std::optional<Flops> flops_per_step{};  // of the global batch, as given; goes over the model's
  bool recompute = false;
};

// Reads the arguments that Megatron prints. Refuses mixtures of experts and latent attention,
// because the arguments do not describe them completely.
[[nodiscard]] LogModel model_of_log(const JobLog& log, const LogAccount& account);

struct LogRate {
  const LogTool* tool = nullptr;
  std::string name;                 // "throughput per GPU", "mfu", "from the step time"
  bool is_mfu = false;              // a fraction; else FLOP/s of one device
  std::optional<double> printed{};  // as the tool prints it; absent if only the time is known
  std::string convention{};         // of the tool
  std::optional<double> factor{};   // ours / printed
  std::optional<double> ours{};
  std::optional<double> mfu{};  // of `ours`, if the peak is known
  std::string remark{};
};

struct LogRates {
  std::vector<LogRate> rates{};
  std::optional<double> mfu{};   // the best known MFU, in our convention
  std::string mfu_convention{};  // or of the model FLOPs as given
  // Why the rate that follows from the step time is not among `rates`. The devices, the batch or
  // the model of the log are then not those of the steps.
  Message contradiction{};
};

[[nodiscard]] LogRates log_rates(const JobLog& log, const LogSteps& steps,
                                 const LogAccount& account, const LogModel& model,
                                 std::optional<FlopRate> peak);

// A log and the results from it.
struct LogFacts {
  JobLog log;
  LogSteps steps;
  LogAccount account;
  LogModel model;
  LogRates rates;
};

}  // namespace stepscope
