// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/train/trainer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/zero/checkpoint/checkpoint_writer.h"

namespace stepscope::zero {
namespace {

// Memory for a step's micro-batches, refilled in each step.
class Batches {
 public:
  Batches(const EngineConfig& config, std::int64_t count)
      : config_(config), texts_(static_cast<std::size_t>(2 * count)) {
    for (auto& text : texts_) text.resize(static_cast<std::size_t>(config.batch * config.tokens));
    micro_batches_.resize(static_cast<std::size_t>(count));
  }

  [[nodiscard]] Result<Done> read(std::size_t index, const TokenData& data, Split split,
                                  std::int64_t place, std::uint64_t dropout_seed) {
    auto& inputs = texts_[2 * index];
    auto& targets = texts_[2 * index + 1];
    auto done = data.read(split, static_cast<std::uint64_t>(place), inputs, targets);
    if (!done) return done;
    micro_batches_[index] = {.batch = config_.batch,
                             .tokens = config_.tokens,
                             .inputs = inputs,
                             .targets = targets,
                             .dropout_seed = dropout_seed};
    return Done{};
  }
  [[nodiscard]] std::span<const nn::MicroBatch> all() const { return micro_batches_; }

 private:
  const EngineConfig& config_;
  std::vector<std::vector<std::int32_t>> texts_;
  std::vector<nn::MicroBatch> micro_batches_;
};

// Mixes (SplitMix64) the values that identify a micro-batch of the run.
std::uint64_t dropout_seed(std::uint64_t seed, std::int64_t place) {
  std::uint64_t x = seed + 0x9E3779B97F4A7C15ULL * (static_cast<std::uint64_t>(place) + 1);
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

// Whether the condition holds on any rank.
Result<bool> any_rank(Communicator& comm, bool here, std::string_view what) {
  std::array<std::int64_t, 1> flag = {here ? 1 : 0};
  auto done = wait_for(comm, all_reduce(comm, flag, what, Reduction::max));
  if (!done) return done.error();
  return flag[0] != 0;
}

class Loop {
 public:
  Loop(Engine& engine, Communicator& comm, RankRecorder& recorder, const TokenData& data,
       const TrainerConfig& config, const TrainerHooks& hooks)
      : engine_(engine),
        comm_(comm),
        recorder_(recorder),
        data_(data),
        config_(config),
        hooks_(hooks),
        training_(engine.config(), engine.config().micro_batches),
        validation_(engine.config(), config.evaluate_batches) {
    if (!config.checkpoints.dir.empty()) writer_.emplace(config.checkpoints.dir, comm.rank());
  }

  [[nodiscard]] Result<Done> run() {
    bool stopping = false;
    while (engine_.cursor().step < config_.steps && !stopping) {
      if (auto done = step(); !done) return done;
      auto next = agree();
      if (!next) return next.error();
      stopping = next->stop;
      const bool last = stopping || engine_.cursor().step >= config_.steps;
      if (next->exchange && !last) {
        if (auto done = hooks_.exchange(); !done) return done;
      }
      if (auto done = collect_checkpoint(false); !done) return done;
      const std::int64_t every = config_.checkpoints.every;
      if (every > 0 && engine_.cursor().step % every == 0) {
        if (auto done = begin_checkpoint(); !done) return done;
      }
    }
    if (auto done = collect_checkpoint(true); !done) return done;
    if (writer_ && saved_ != engine_.cursor().step) {
      if (auto done = begin_checkpoint(); !done) return done;
    }
    return collect_checkpoint(true);
  }

 private:
  [[nodiscard]] Result<Done> step() {
    const std::int64_t step = engine_.cursor().step;
    if (hooks_.before_step) hooks_.before_step(step);
    if (auto done = read_step(step); !done) return done;
    auto result = engine_.step(training_.all());
    if (!result) return result.error();
    const EngineConfig& engine = engine_.config();
    engine_.set_data_position(engine_.cursor().data_position +
                              engine.micro_batches * comm_.size() * engine.batch);
    std::optional<double> validation;
    if (config_.evaluate_every > 0 && engine_.cursor().step % config_.evaluate_every == 0) {
      auto loss = evaluate();
      if (!loss) return loss.error();
      validation = *loss;
    }
    if (hooks_.after_step) hooks_.after_step(*result, validation);
    return Done{};
  }

  [[nodiscard]] Result<Done> read_step(std::int64_t step) {
    const ActivityScope reading(recorder_, Activity::data);
    const EngineConfig& engine = engine_.config();
    for (int i = 0; i < engine.micro_batches; ++i) {
      if (hooks_.before_data) hooks_.before_data(step);
      const std::int64_t place =
          engine_.cursor().data_position + (i * comm_.size() + comm_.rank()) * engine.batch;
      auto done = training_.read(static_cast<std::size_t>(i), data_, Split::train, place,
                                 dropout_seed(engine.seed, place));
      if (!done) return done;
    }
    return Done{};
  }

  [[nodiscard]] Result<double> evaluate() {
    for (std::int64_t i = 0; i < config_.evaluate_batches; ++i) {
      const ActivityScope reading(recorder_, Activity::data);
      const std::int64_t place = (i * comm_.size() + comm_.rank()) * engine_.config().batch;
      auto done = validation_.read(static_cast<std::size_t>(i), data_, Split::validation, place, 0);
      if (!done) return done.error();
    }
    return engine_.evaluate(validation_.all());
  }

  struct Agreed {
    bool stop = false;
    bool exchange = false;
  };
  [[nodiscard]] Result<Agreed> agree() {
    if (!hooks_.stop && !hooks_.exchange) return Agreed{};
    const auto asked = [](const std::function<bool()>& hook) { return hook && hook() ? 1 : 0; };
    std::array<std::int64_t, 2> flags = {asked(hooks_.stop),
                                         hooks_.exchange ? asked(hooks_.wants_exchange) : 0};
    if (auto done = engine_.all_reduce(flags, Reduction::max, "what comes next"); !done) {
      return done.error();
    }
    return Agreed{.stop = flags[0] != 0, .exchange = flags[1] != 0};
  }
  [[nodiscard]] Result<bool> any(bool here, std::string_view what) {
    std::array<std::int64_t, 1> flag = {here ? 1 : 0};
    if (auto done = engine_.all_reduce(flag, Reduction::max, what); !done) return done.error();
    return flag[0] != 0;
  }

  [[nodiscard]] CheckpointInfo info() const {
    return {.model = checkpoint_model(engine_.config().network),
            .cursor = engine_.cursor(),
            .parameters = engine_.config().type,
            .stage = engine_.config().stage,
            .world_size = comm_.size()};
  }

  [[nodiscard]] Result<Done> begin_checkpoint() {
    if (!writer_) return Done{};
    if (auto done = collect_checkpoint(true); !done) return done;
    const ActivityScope copying(recorder_, Activity::wait_io);
    auto state = engine_.state();
    if (!state) return state.error();
    written_ = info();
    saved_ = engine_.cursor().step;
    writer_->begin(written_, state->extents);
    return Done{};
  }

  // Checks on all ranks together whether the current checkpoint is written, and commits it.
  [[nodiscard]] Result<Done> collect_checkpoint(bool wait) {
    if (!writer_ || !pending()) return Done{};
    const ActivityScope waiting(recorder_, Activity::wait_io);
    if (!outcome_) outcome_ = wait ? writer_->wait() : writer_->finished();
    auto unfinished = any(!outcome_.has_value(), "checkpoint parts that are being written");
    if (!unfinished) return unfinished.error();
    if (*unfinished) return Done{};
    const Result<Done> mine = *std::exchange(outcome_, std::nullopt);
    auto failed = any(!mine, "checkpoint parts that failed");
    if (!failed) return failed.error();
    if (comm_.rank() == 0) commit(mine, *failed);
    return Done{};
  }
  [[nodiscard]] bool pending() const { return outcome_.has_value() || writer_->busy(); }

  void commit(const Result<Done>& mine, bool failed) {
    const std::string& dir = config_.checkpoints.dir;
    Result<std::string> committed =
        Error{.what = "another rank could not write its checkpoint", .code = ErrorCode::other_rank};
    if (failed) {
      abandon_checkpoint(dir, written_.cursor.step);
      if (!mine) committed = mine.error();
    } else {
      committed = commit_checkpoint(dir, written_);
    }
    if (committed && config_.checkpoints.keep > 0) {
      if (auto kept = keep_last_checkpoints(dir, config_.checkpoints.keep); !kept) {
        committed = kept.error();
      }
    }
    if (hooks_.after_checkpoint) hooks_.after_checkpoint(committed);
  }

  Engine& engine_;
  Communicator& comm_;
  RankRecorder& recorder_;
  const TokenData& data_;
  const TrainerConfig& config_;
  const TrainerHooks& hooks_;
  Batches training_;
  Batches validation_;
  std::optional<CheckpointWriter> writer_;
  std::optional<Result<Done>> outcome_;  // of this rank's part, until all ranks have theirs
  CheckpointInfo written_;
  std::int64_t saved_ = -1;
};

}  // namespace

CheckpointModel checkpoint_model(const nn::NetworkConfig& config) {
  CheckpointModel model;
  model.config = (config.family == nn::NetworkFamily::gpt2 ? "gpt2" : "llama");
  const auto add = [&](std::string_view key, auto value) {
    model.config.append(" ").append(key).append(" ").append(std::to_string(value));
  };
  add("layers", config.layers);
  add("heads", config.heads);
  add("kv_heads", config.kv_heads);
  add("channels", config.channels);
  add("hidden", config.hidden);
  add("vocab", config.vocab);
  add("padded_vocab", config.padded_vocab);
  add("context", config.context);
  add("tied", config.tied ? 1 : 0);
  for (const nn::Unit& unit : nn::network_units(config)) {
    CheckpointUnit& added =
        model.units.emplace_back(CheckpointUnit{.name = unit.name, .elements = unit.count});
    for (const nn::Parameter& parameter : unit.parameters) {
      added.tensors.push_back(
          {.name = parameter.name, .shape = parameter.shape, .offset = parameter.offset});
    }
  }
  return model;
}

Result<Done> train(Engine& engine, Communicator& comm, RankRecorder& recorder,
                   const TokenData& data, const TrainerConfig& config, const TrainerHooks& hooks) {
  return Loop(engine, comm, recorder, data, config, hooks).run();
}

Result<Done> load_checkpoint(Engine& engine, Communicator& comm, const std::string& path) {
  auto state = engine.state();
  if (!state) return state.error();
  TrainingCursor cursor;
  const auto read = [&]() -> Result<Done> {
    auto checkpoint = Checkpoint::open(path);
    if (!checkpoint) return checkpoint.error();
    auto done = checkpoint->check_model(checkpoint_model(engine.config().network));
    if (!done) return done;
    cursor = checkpoint->info().cursor;
    return checkpoint->load(state->extents);
  };
  const Result<Done> mine = read();
  auto failed = any_rank(comm, !mine, "checkpoints that cannot be loaded");
  if (!mine) return mine.error();
  if (!failed) return failed.error();
  if (*failed) {
    return Error{.what = "another rank could not load the checkpoint",
                 .file = path,
                 .hint = "see its error",
                 .code = ErrorCode::other_rank};
  }
  return engine.state_loaded(cursor);
}

}  // namespace stepscope::zero
