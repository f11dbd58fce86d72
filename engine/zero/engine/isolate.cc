// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/isolate.h"

namespace stepscope::zero {
namespace {

class Isolate {
 public:
  Isolate(Engine& engine, Isolation& comm, RankRecorder& recorder,
          std::span<const nn::MicroBatch> micro_batches, const IsolateConfig& config)
      : engine_(engine),
        comm_(comm),
        recorder_(recorder),
        micro_batches_(micro_batches),
        config_(config) {}

  [[nodiscard]] Result<IsolatedTimes> run() {
    for (int round = 0; round < config_.rounds; ++round) {
      if (auto done = agree_on(round == 0); !done) return done.error();
      if (auto done = compute_alone(); !done) return done.error();
      if (auto done = communicate_alone(); !done) return done.error();
    }
    return times_;
  }

 private:
  // Waits until nothing is unfinished and all ranks are at the same place.
  [[nodiscard]] Result<Done> meet() {
    if (auto state = engine_.state(); !state) return state.error();
    auto met = wait_for(comm_, barrier(comm_, "before a measurement"));
    if (!met) return met.error();
    return Done{};
  }

  [[nodiscard]] Result<StepRecord> step() {
    auto done = engine_.step(micro_batches_);
    if (!done) return done.error();
    const StepRecord record = *recorder_.last_step();
    (void)recorder_.take_window();
    return record;
  }

  // The script is of a step that follows another: it finishes the previous step's messages.
  [[nodiscard]] Result<Done> agree_on(bool record) {
    if (auto met = meet(); !met) return met;
    if (auto warm = step(); !warm) return warm.error();
    if (record) {
      comm_.record();
      auto recorded = step();
      script_ = comm_.taken();
      if (!recorded) return recorded.error();
    }
    for (int i = 0; i < config_.steps; ++i) {
      auto measured = step();
      if (!measured) return measured.error();
      times_.both.push_back(measured->end - measured->begin);
      times_.exposed.push_back(measured->activity[slot(Activity::wait_fetch)] +
                               measured->activity[slot(Activity::wait_reduce)] +
                               measured->activity[slot(Activity::wait_gather)]);
    }
    return Done{};
  }

  [[nodiscard]] Result<Done> compute_alone() {
    if (auto met = meet(); !met) return met;
    comm_.leave_out(true);
    for (int i = 0; i <= config_.steps; ++i) {
      auto measured = step();
      if (!measured) return measured.error();
      if (i > 0) times_.compute.push_back(measured->end - measured->begin);
    }
    auto state = engine_.state();
    comm_.leave_out(false);
    if (!state) return state.error();
    return Done{};
  }

  [[nodiscard]] Result<Done> communicate_alone() {
    if (auto met = meet(); !met) return met;
    Ns begin = recorder_.now();
    for (int i = 0; i <= config_.steps; ++i) {
      if (auto done = comm_.replay(script_); !done) return done;
      const Ns end = recorder_.now();
      if (i > 0) times_.communication.push_back(end - begin);
      begin = end;
    }
    return comm_.finish_replay();
  }

  Engine& engine_;
  Isolation& comm_;
  RankRecorder& recorder_;
  std::span<const nn::MicroBatch> micro_batches_;
  const IsolateConfig config_;
  CollectiveScript script_;
  IsolatedTimes times_;
};

}  // namespace

Result<IsolatedTimes> isolate(Engine& engine, Isolation& comm, RankRecorder& recorder,
                              std::span<const nn::MicroBatch> micro_batches,
                              const IsolateConfig& config) {
  check(config.rounds > 0 && config.steps > 0, "there is something to measure");
  return Isolate(engine, comm, recorder, micro_batches, config).run();
}

}  // namespace stepscope::zero
