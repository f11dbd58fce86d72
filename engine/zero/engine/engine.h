// SPDX-License-Identifier: Apache-2.0
// Trains a network on the ranks of a group with ZeRO stage 0, 1, 2 or 3, by its plan (step_plan.h).
//
//   auto engine = *Engine::create(config, comm, recorder);
//   plan_text(engine->plan());                         // what it will take
//   for (;;) { auto done = engine->step(micro_batches); … }
//
// Numerics. A reduced gradient is ((g0 + g1) + g2) + … in rank order. Losses and gradients are sums
// over tokens. The update scales them by 1 / (tokens of all ranks), so ranks may have different
// numbers of tokens. The norm for clipping does not depend on the sharding (exact_norm.h). For a
// fixed number of ranks and a fixed accumulation, weights and moments therefore have the same bits
// at every stage, bucket size, prefetch depth, recomputation and transport.
//
// A step allocates nothing unless it fails. One thread drives an engine. All ranks call the same
// functions in the same order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/nn/kernels/adamw.h"
#include "engine/nn/network/network.h"
#include "engine/telemetry/rank_recorder.h"
#include "engine/zero/engine/engine_config.h"
#include "engine/zero/engine/exchange.h"
#include "engine/zero/engine/offload.h"
#include "engine/zero/engine/state.h"
#include "engine/zero/plan/step_plan.h"
#include "engine/zero/plan/unit_memory.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

struct ExactSum;  // exact_norm.h

struct StepResult {
  std::int64_t step = 0;     // from 0
  double loss = 0;           // mean over the tokens of all ranks
  std::int64_t tokens = 0;   // of all ranks, those with a target
  double gradient_norm = 0;  // of the mean loss, before clipping; absent (0) if skipped
  double learning_rate = 0;
  bool clipped = false;
  bool skipped = false;  // loss or gradient were not finite: no update
};

// The first place with values that are not finite: "block 3, forward, micro-batch 0 of rank 1".
struct NonFiniteReport {
  std::int64_t step = -1;  // -1: never
  std::string where;
};

// An observer of a run, e.g. for a trace. Passes and operations nest.
class EngineObserver : public nn::OpObserver, public CollectiveObserver, public ShardObserver {
 public:
  virtual void step_begin(std::int64_t step) noexcept = 0;
  virtual void step_end() noexcept = 0;
  virtual void range_begin(std::string_view name, Activity activity) noexcept = 0;
  virtual void range_end() noexcept = 0;
  void moved(const ShardMove& /*move*/) noexcept override {}
};

class Engine {
 public:
  // Initial parameters come from the seed; a rank draws the values that it holds. `comm` and
  // `recorder` must outlive the engine. The recorder knows units by their numbers and the group as
  // number 0. From now on it reads the communicator's clock. Errors: an invalid network or request,
  // no memory.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> create(const EngineConfig& config,
                                                              Communicator& comm,
                                                              RankRecorder& recorder);
  // The plan of a rank of such engines, without one: arithmetic. Errors: an invalid network or
  // request.
  [[nodiscard]] static Result<Plan> plan_for(const EngineConfig& config, int rank, int world_size);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  Engine(Engine&&) = delete;
  Engine& operator=(Engine&&) = delete;
  ~Engine();

  [[nodiscard]] const EngineConfig& config() const { return config_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const nn::Network& network() const { return *network_; }
  [[nodiscard]] const TrainingCursor& cursor() const { return cursor_; }

  // Runs one step on the configured number of micro-batches and ends the recorder's step. The head
  // pass (final norm, logits, loss and their gradients) counts as backward. Errors: communication
  // failed; no rank has a token with a target; values are not finite and the engine is configured
  // to stop.
  [[nodiscard]] Result<StepResult> step(std::span<const nn::MicroBatch> micro_batches);
  // Whether a step's messages may overlap its computation; initially true. If not, the step waits
  // for each message right after its submission, like a program that synchronises after every call.
  void overlap(bool allowed) { exchange_.overlap(allowed); }
  // Position in the data order, for checkpoints.
  void set_data_position(std::int64_t position) { cursor_.data_position = position; }
  // The mean loss over the tokens of all ranks' batches. All ranks must pass the same number of
  // batches.
  [[nodiscard]] Result<double> evaluate(std::span<const nn::MicroBatch> batches);

  // Waits for the messages and writes of the last step that are still under way. The recorder then
  // knows every transfer of the steps. Needed only at the end: a step waits for what it needs.
  [[nodiscard]] Result<Done> settle();
  // The extents that this rank keeps for checkpoints: its logical shards, at every stage. Waits for
  // the last step's unfinished messages. Extents in stores are read into memory, which is kept
  // until the next step.
  [[nodiscard]] Result<TrainingState> state();
  // Call it after all ranks have written new values to their extents: it derives all other state
  // from them.
  [[nodiscard]] Result<Done> state_loaded(const TrainingCursor& cursor);
  // The unit's complete master weights, on every rank.
  [[nodiscard]] Result<Done> gather_master(std::size_t unit, std::span<float> values);
  // Calls `use` with the unit's parameters as passes read them, then releases them.
  [[nodiscard]] Result<Done> with_parameters(
      std::size_t unit, const std::function<void(std::span<const std::byte>)>& use);

  // Collectives outside the steps. The recorder accounts for them like those of a step.
  [[nodiscard]] Result<Done> all_reduce(std::span<std::int64_t> values, Reduction reduction,
                                        std::string_view what) {
    return exchange_.all_reduce_now(values, reduction, what);
  }
  [[nodiscard]] Result<Done> all_gather(std::span<const std::byte> own, std::span<std::byte> all,
                                        std::string_view what) {
    return exchange_.all_gather_now(own, all, what);
  }

  // The peak memory since the engine was made, by class: the used part of pools and buckets, and
  // the laid-out size of the rest. It equals the plan's.
  [[nodiscard]] ArenaMemory measured_memory() const;
  // Resident memory by class: the whole pages that were touched.
  [[nodiscard]] std::array<Bytes, arena_class_count> resident_memory() const;

  [[nodiscard]] const NonFiniteReport& last_non_finite() const { return non_finite_; }
  // Null: no observer.
  void observe(EngineObserver* observer);
  // One line per store: its contents, and the way it is read and written.
  [[nodiscard]] std::vector<std::string> offload_descriptions() const;

 private:
  struct Progress;
  struct DecayRange {
    std::size_t unit = 0;
    std::int64_t first = 0;  // of the elements that this rank holds
    std::int64_t count = 0;
    bool decay = false;
  };
  struct Agreed {
    double loss = 0;
    double tokens = 0;
    std::int32_t exponent = 0;
    bool finite = true;
  };

  using MasterVisitor = std::function<Result<Done>(std::span<const float>)>;
  // Pointers to elements [first, first + count) of the held part of a unit.
  struct UpdateSpan {
    std::int64_t first = 0;
    std::int64_t count = 0;
    const std::byte* gradients = nullptr;
    float* master = nullptr;
    float* m = nullptr;
    float* v = nullptr;
    std::byte* parameters = nullptr;  // rounded; f32: the master weights
  };

  Engine(const EngineConfig& config, Communicator& comm, RankRecorder& recorder, Plan plan,
         nn::Network network, RankArenas memory, std::unique_ptr<Offload> offload);
  [[nodiscard]] Result<Done> initialize_parameters();
  void list_decay_ranges();
  [[nodiscard]] Result<Done> run_actions(std::span<const Action> actions,
                                         std::span<const nn::Pass> passes,
                                         std::span<const nn::MicroBatch> micro_batches,
                                         bool reduce);
  [[nodiscard]] Result<Done> run_pass(const Action& action, const nn::Pass& pass,
                                      const nn::MicroBatch& micro);
  void report_layers();
  [[nodiscard]] Result<std::span<const std::byte>> parameters_of(const nn::Pass& pass);
  [[nodiscard]] std::span<std::byte> local_gradient(std::size_t unit) const;
  [[nodiscard]] Result<Agreed> agree();
  [[nodiscard]] Result<double> gradient_norm(const Agreed& agreed);
  [[nodiscard]] Result<Done> update(const OptimizerConfig& optimizer, double scale, double rate);
  void update_range(const DecayRange& range, nn::AdamW optimizer, float scale,
                    const UpdateSpan& span) const;
  [[nodiscard]] Result<Done> name_non_finite(std::span<const nn::MicroBatch> micro_batches);
  [[nodiscard]] Result<std::int64_t> first_bad_parameters();
  [[nodiscard]] Result<Done> share_states(std::size_t unit);
  // engine_offload.cc
  [[nodiscard]] bool stored(ShardColumn column) const;
  [[nodiscard]] ShardColumn master_column() const;
  [[nodiscard]] Result<Done> initialize_stored(std::size_t unit);
  // All master weights of the unit that this rank holds, part by part.
  [[nodiscard]] Result<Done> visit_master(std::size_t unit, const MasterVisitor& visit);
  [[nodiscard]] Result<Done> add_extent(std::size_t unit, TrainingState& state);
  [[nodiscard]] Result<std::span<float>> state_part(std::size_t unit, ShardColumn column,
                                                    std::span<float> memory);
  [[nodiscard]] Result<Done> store_extents();
  [[nodiscard]] Result<Done> round_unit(std::size_t unit);
  [[nodiscard]] Result<Done> begin_offloaded();
  [[nodiscard]] Result<Done> finish_update();
  [[nodiscard]] Result<Done> begin_update();
  [[nodiscard]] Result<Done> add_offloaded_squares(std::int32_t exponent, ExactSum& sum);
  [[nodiscard]] Result<std::optional<ShardPiece>> take_piece();
  [[nodiscard]] Result<Done> put_back_piece();
  [[nodiscard]] UpdateSpan span_of(const ShardPiece& piece) const;
  [[nodiscard]] Result<Done> share_updated(std::size_t& next, std::size_t end);
  [[nodiscard]] Result<Done> update_offloaded(const nn::AdamW& optimizer, float scale);
  void end_step(std::span<const nn::MicroBatch> micro_batches, bool skipped);
  void record_memory();
  [[nodiscard]] Flops recomputed_flops(std::int64_t batch, std::int64_t tokens) const;

  EngineConfig config_;
  Communicator& comm_;
  RankRecorder& recorder_;
  Plan plan_;
  std::unique_ptr<nn::Network> network_;
  RankArenas memory_;
  std::unique_ptr<Offload> offload_;  // null: everything is in memory
  Exchange exchange_;
  std::unique_ptr<Progress> progress_;  // polls between operations
  EngineObserver* observer_ = nullptr;
  TrainingCursor cursor_;
  std::vector<DecayRange> ranges_;
  std::vector<std::vector<float>> read_back_;  // read from stores by state()
  std::vector<StateExtent> extents_;           // returned by state()
  bool extents_read_ = false;                  // in this step
  // The pass under way: the time of each unit in forward, backward and recompute, by Activity;
  // absent: it did not run.
  using LayerTimes = std::array<std::optional<Ns>, 3>;
  std::vector<LayerTimes> layer_times_;
  std::vector<std::int64_t> open_;  // by unit: place of its gradient in the pool
  std::vector<std::int64_t> flags_;
  std::int64_t pooled_now_ = 0;
  std::int64_t most_pooled_ = 0;
  // Sums of the step under way.
  double loss_sum_ = 0;
  std::int64_t loss_tokens_ = 0;
  // During the search for values that are not finite: this rank's first pass with such a result.
  bool searching_ = false;
  std::int64_t first_bad_ = 0;
  NonFiniteReport non_finite_;
};

}  // namespace stepscope::zero
