// SPDX-License-Identifier: Apache-2.0
// The loop over steps of one rank: data, step, evaluation, checkpoints. All ranks run it alike; a
// rank's failure ends it on all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/comm/communicator/communicator.h"
#include "stepscope/telemetry/rank_recorder.h"
#include "stepscope/zero/checkpoint/checkpoint.h"
#include "stepscope/zero/engine/engine.h"
#include "stepscope/zero/train/data.h"

namespace stepscope::zero {

struct CheckpointPolicy {
  std::string dir{};       // empty: none
  std::int64_t every = 0;  // steps; 0: after the last step only
  std::size_t keep = 2;    // committed ones; 0: all
};

struct TrainerConfig {
  std::int64_t steps = 0;           // up to this step, counted from the run's first
  std::int64_t evaluate_every = 0;  // steps; 0: never
  std::int64_t evaluate_batches = 4;
  CheckpointPolicy checkpoints{};
};

// Called on the training thread of each rank; empty ones are not called.
struct TrainerHooks {
  std::function<void(std::int64_t)> before_step{};  // of step
  // Inside the time that counts as data, before each micro-batch is read.
  std::function<void(std::int64_t)> before_data{};
  // After a step; the loss of validation where it was evaluated.
  std::function<void(const StepResult&, std::optional<double>)> after_step{};
  // Rank 0: the checkpoint was committed there; or why it was not (training goes on).
  std::function<void(const Result<std::string>&)> after_checkpoint{};
  // Any rank says true: all stop after the step, with a checkpoint where those are kept.
  std::function<bool()> stop{};
  // Any rank says true after a step: `exchange` is called on all of them, for collectives of the
  // engine.
  std::function<bool()> wants_exchange{};
  std::function<Result<Done>()> exchange{};
};

// What a checkpoint of this network says it is of.
[[nodiscard]] CheckpointModel checkpoint_model(const nn::NetworkConfig& config);

// Sample i of micro-batch m of rank r is place data_position + (m * ranks + r) * batch + i of the
// run. Errors: of data, of the engine; checkpoints that fail are told to the hook only.
[[nodiscard]] Result<Done> train(Engine& engine, Communicator& comm, RankRecorder& recorder,
                                 const TokenData& data, const TrainerConfig& config,
                                 const TrainerHooks& hooks);

// Loads the checkpoint into the engine, whatever stage and number of ranks wrote it. All ranks call
// it alike, and where one cannot read it all have an error.
[[nodiscard]] Result<Done> load_checkpoint(Engine& engine, Communicator& comm,
                                           const std::string& path);

}  // namespace stepscope::zero
