// SPDX-License-Identifier: Apache-2.0
// One rank's training loop: data, step, evaluation, checkpoints. All ranks run the same loop. A
// failure of one rank ends it on all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/comm/communicator/communicator.h"
#include "engine/telemetry/rank_recorder.h"
#include "engine/zero/checkpoint/checkpoint.h"
#include "engine/zero/engine/engine.h"
#include "engine/zero/train/data.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

struct CheckpointPolicy {
  std::string dir{};       // empty: none
  std::int64_t every = 0;  // steps; 0: only after the last step
  std::size_t keep = 2;    // committed checkpoints to keep; 0: all
};

struct TrainerConfig {
  std::int64_t steps = 0;           // train up to this step, counted from the run's first
  std::int64_t evaluate_every = 0;  // steps; 0: never
  std::int64_t evaluate_batches = 4;
  CheckpointPolicy checkpoints{};
};

// Called on the training thread of each rank. Empty hooks are skipped.
struct TrainerHooks {
  std::function<void(std::int64_t)> before_step{};  // of step
  // Called before each micro-batch is read; its time counts as data time.
  std::function<void(std::int64_t)> before_data{};
  // Called after a step, with the validation loss if it was evaluated.
  std::function<void(const StepResult&, std::optional<double>)> after_step{};
  // Called on rank 0 with the path of the committed checkpoint, or the error. Training continues
  // after an error.
  std::function<void(const Result<std::string>&)> after_checkpoint{};
  // If any rank returns true, all stop after the step, with a checkpoint if checkpoints are kept.
  std::function<bool()> stop{};
  // If any rank returns true after a step that is not the last, `exchange` is called on all ranks,
  // for collectives of the engine.
  std::function<bool()> wants_exchange{};
  std::function<Result<Done>()> exchange{};
};

// The model identity in this network's checkpoints.
[[nodiscard]] CheckpointModel checkpoint_model(const nn::NetworkConfig& config);

// Sample i of micro-batch m of rank r is at place data_position + (m * ranks + r) * batch + i of
// the run. Errors: those of data and of the engine. Only the hook gets failures of checkpoints.
[[nodiscard]] Result<Done> train(Engine& engine, Communicator& comm, RankRecorder& recorder,
                                 const TokenData& data, const TrainerConfig& config,
                                 const TrainerHooks& hooks);

// Loads the checkpoint into the engine; any stage and number of ranks may have written it. All
// ranks call it. If one rank cannot read it, all return an error.
[[nodiscard]] Result<Done> load_checkpoint(Engine& engine, Communicator& comm,
                                           const std::string& path);

}  // namespace stepscope::zero
