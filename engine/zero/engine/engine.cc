// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/engine.h"

#include <algorithm>
#include <utility>

#include "engine/nn/network/initialize.h"

namespace stepscope::zero {

// Runs between two operations of the network: messages and files make progress, and an observer is
// notified of the operation. Also records finished transfers from and to stores.
struct Engine::Progress final : nn::OpObserver, ShardObserver {
  Progress(Exchange& exchange, RankRecorder& recorder, Offload* offload)
      : exchange_(exchange), recorder_(recorder), offload_(offload) {
    if (offload_ != nullptr) offload_->stores.observe(this);
  }

  void begin(const nn::OpCall& call) noexcept override {
    if (next_ != nullptr) next_->begin(call);
  }
  void end() noexcept override {
    if (next_ != nullptr) next_->end();
    exchange_.poll();
    if (offload_ != nullptr) offload_->stores.poll();
  }
  void moved(const ShardMove& move) noexcept override {
    recorder_.transfer(move.direction, move.bytes, move.begin, move.end,
                       move.column == ShardColumn::parameters);
    if (next_ != nullptr) next_->moved(move);
  }
  void forward_to(EngineObserver* next) { next_ = next; }

 private:
  Exchange& exchange_;
  RankRecorder& recorder_;
  Offload* offload_;  // null: no offload
  EngineObserver* next_ = nullptr;
};

namespace {

Result<nn::Network> network_of(const EngineConfig& config) {
  return nn::Network::create(config.network, config.type, config.batch, config.tokens,
                             config.recompute);
}

Result<Plan> plan_of(const EngineConfig& config, const nn::Network& network, int rank,
                     int world_size) {
  return make_plan({.stage = config.stage,
                    .rank = rank,
                    .world_size = world_size,
                    .type = config.type,
                    .micro_batches = config.micro_batches,
                    .accumulation = config.accumulation,
                    .prefetch_distance = config.prefetch_distance,
                    .bucket_bytes = config.bucket_bytes,
                    .buckets = config.buckets,
                    .activation_bytes = network.activation_bytes(),
                    .scratch_bytes = network.scratch_bytes(),
                    .offload = config.offload.parts(),
                    .offload_buffer = config.offload_buffer},
                   nn::network_units(config.network),
                   nn::training_passes(config.network, config.recompute),
                   nn::evaluation_passes(config.network));
}

}  // namespace

Result<Plan> Engine::plan_for(const EngineConfig& config, int rank, int world_size) {
  const auto network = network_of(config);
  if (!network) return network.error();
  return plan_of(config, *network, rank, world_size);
}

Result<std::unique_ptr<Engine>> Engine::create(const EngineConfig& config, Communicator& comm,
                                               RankRecorder& recorder) {
  auto network = network_of(config);
  if (!network) return network.error();
  auto plan = plan_of(config, *network, comm.rank(), comm.size());
  if (!plan) return plan.error();
  auto memory = RankArenas::map(*plan);
  if (!memory) return memory.error();
  auto offload =
      Offload::create(*plan, config.offload, (*memory)[ArenaClass::offload_buffers].bytes());
  if (!offload) return offload.error();
  std::unique_ptr<Engine> engine(new Engine(config, comm, recorder, *std::move(plan),
                                            *std::move(network), *std::move(memory),
                                            *std::move(offload)));
  if (auto done = engine->initialize_parameters(); !done) return done.error();
  engine->list_decay_ranges();
  return engine;
}

Engine::Engine(const EngineConfig& config, Communicator& comm, RankRecorder& recorder, Plan plan,
               nn::Network network, RankArenas memory, std::unique_ptr<Offload> offload)
    : config_(config),
      comm_(comm),
      recorder_(recorder),
      plan_(std::move(plan)),
      network_(std::make_unique<nn::Network>(std::move(network))),
      memory_(std::move(memory)),
      offload_(std::move(offload)),
      exchange_(plan_, memory_, comm, recorder, offload_.get()),
      progress_(std::make_unique<Progress>(exchange_, recorder, offload_.get())),
      layer_times_(plan_.units.size()),
      open_(plan_.units.size(), -1),
      flags_(plan_.units.size() + 2) {
  network_->use_memory(memory_[ArenaClass::activations].bytes(),
                       memory_[ArenaClass::scratch].bytes());
  network_->observe(progress_.get());
  cursor_.seed = config.seed;
  // With two clocks, even if only some µs apart, a collective would end after the wait for it,
  // during the thread's next work.
  recorder_.use_clock(ClockSource::monotonic);
  recorder_.prepare(0, CollectiveKind::all_reduce, CollectivePurpose::other);
  recorder_.prepare(0, CollectiveKind::all_reduce, CollectivePurpose::gradients);
  recorder_.prepare(0, CollectiveKind::reduce_scatter, CollectivePurpose::gradients);
  recorder_.prepare(0, CollectiveKind::all_gather, CollectivePurpose::parameters);
}

Engine::~Engine() = default;

void Engine::observe(EngineObserver* observer) {
  observer_ = observer;
  progress_->forward_to(observer);
  exchange_.observe(observer);
}

Result<Done> Engine::initialize_parameters() {
  for (std::size_t u = 0; u < plan_.units.size(); ++u) {
    const UnitPlace& place = plan_.places[u];
    const UnitMemory& unit = memory_.units[u];
    if (auto done = initialize_stored(u); !done) return done;
    if (config_.type != ElementType::f32 && !stored(ShardColumn::master)) {
      nn::initialize(plan_.units[u], u, config_.seed, place.held.param_start, unit.master);
    }
    if (stored(ShardColumn::parameters)) continue;
    const bool shard = config_.stage == 3;
    draw_parameters(plan_.units[u], u, config_.seed, config_.type,
                    shard ? place.held.param_start : 0, shard ? unit.held : unit.whole);
  }
  return Done{};
}

// Neighbouring parameters with the same weight decay are updated together.
void Engine::list_decay_ranges() {
  for (std::size_t u = 0; u < plan_.units.size(); ++u) {
    const OptimizerShard& held = plan_.places[u].held;
    for (const nn::Parameter& parameter : plan_.units[u].parameters) {
      const std::int64_t begin = std::max(parameter.offset, held.param_start);
      const std::int64_t end = std::min(parameter.offset + parameter.count, held.param_end);
      if (begin >= end) continue;
      const std::int64_t first = begin - held.param_start;
      const bool joins = !ranges_.empty() && ranges_.back().unit == u &&
                         ranges_.back().decay == parameter.decay &&
                         ranges_.back().first + ranges_.back().count == first;
      if (joins) {
        ranges_.back().count += end - begin;
      } else {
        ranges_.push_back(
            {.unit = u, .first = first, .count = end - begin, .decay = parameter.decay});
      }
    }
  }
}

Result<Done> Engine::settle() {
  if (auto done = exchange_.await_all(); !done) return done;
  if (offload_ && offload_->gradients) {
    const ActivityScope writing(recorder_, Activity::wait_io);
    if (auto done = offload_->gradients->settle(); !done) return done;
  }
  return finish_update();
}

Result<TrainingState> Engine::state() {
  read_back_.clear();
  if (auto done = exchange_.await_all(); !done) return done.error();
  if (auto done = finish_update(); !done) return done.error();
  TrainingState state{.parameters = config_.type, .cursor = cursor_};
  for (std::size_t u = 0; u < plan_.units.size(); ++u) {
    state.unit_names.push_back(plan_.units[u].name);
    state.unit_elements.push_back(plan_.units[u].count);
    if (plan_.places[u].shard.shard_size() == 0) continue;
    if (auto done = add_extent(u, state); !done) return done.error();
  }
  if (offload_) extents_ = state.extents;
  extents_read_ = true;
  return state;
}

Result<Done> Engine::state_loaded(const TrainingCursor& cursor) {
  cursor_ = cursor;
  if (auto done = store_extents(); !done) return done;
  for (std::size_t u = 0; u < plan_.units.size(); ++u) {
    if (config_.stage == 0) {
      if (auto done = share_states(u); !done) return done;
    }
    if (config_.type != ElementType::f32) {
      if (auto done = round_unit(u); !done) return done;
    }
    if (config_.stage == 1 || config_.stage == 2) {
      if (auto done = exchange_.gather(u); !done) return done;
      if (auto done = exchange_.await_gathered(u); !done) return done;
    }
  }
  return Done{};
}

Result<Done> Engine::gather_master(std::size_t unit, std::span<float> values) {
  check(values.size() == static_cast<std::size_t>(plan_.units[unit].count),
        "whole units are gathered");
  const OptimizerShard& held = plan_.places[unit].held;
  auto mine = values.begin() + static_cast<std::ptrdiff_t>(held.param_start);
  auto copied = visit_master(unit, [&](std::span<const float> part) {
    mine = std::ranges::copy(part, mine).out;
    return Done{};
  });
  if (!copied) return copied;
  if (config_.stage == 0) return Done{};
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const OptimizerShard shard = plan_.places[unit].layout.shard(rank);
    if (shard.shard_size() == 0) continue;
    const auto part = values.subspan(static_cast<std::size_t>(shard.param_start),
                                     static_cast<std::size_t>(shard.shard_size()));
    if (auto done = wait_for(comm_, broadcast(comm_, part, rank, "master weights")); !done) {
      return done.error();
    }
  }
  return Done{};
}

Result<Done> Engine::with_parameters(std::size_t unit,
                                     const std::function<void(std::span<const std::byte>)>& use) {
  if (config_.stage < 3) {
    if (auto done = exchange_.await_gathered(unit); !done) return done;
    use(memory_.units[unit].whole);
    return Done{};
  }
  const std::array<std::size_t, 1> fetches = {unit};
  if (auto done = finish_update(); !done) return done;
  if (auto done = exchange_.expect_fetches(fetches); !done) return done;
  if (auto done = exchange_.fetch(unit, 0, false); !done) return done;
  auto whole = exchange_.await_fetched(unit);
  if (!whole) return whole.error();
  use(*whole);
  exchange_.release(unit);
  return Done{};
}

ArenaMemory Engine::measured_memory() const {
  ArenaMemory measured = plan_.memory;
  const auto pool = [&](ArenaClass c, Bytes used) {
    ClassMemory& memory = measured[static_cast<std::size_t>(c)];
    memory.unused += memory.bytes - used;
    memory.bytes = used;
  };
  pool(ArenaClass::gathered_units, exchange_.most_gathered());
  pool(ArenaClass::unit_gradients, {most_pooled_});
  pool(ArenaClass::buckets, exchange_.most_buckets());
  return measured;
}

std::array<Bytes, arena_class_count> Engine::resident_memory() const {
  std::array<Bytes, arena_class_count> resident{};
  for (std::size_t c = 0; c < arena_class_count; ++c) resident[c] = memory_.arenas[c].resident();
  return resident;
}

}  // namespace stepscope::zero
