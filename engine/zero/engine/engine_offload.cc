// SPDX-License-Identifier: Apache-2.0
// The engine's offload. Data in stores passes through memory once per step, and completely when
// states are loaded or saved.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/zero/engine/engine.h"
#include "engine/zero/engine/exact_norm.h"

namespace stepscope::zero {
namespace {

constexpr std::int64_t chunk = 1 << 20;  // elements in memory at once, outside steps

std::span<std::byte> bytes_of(std::span<float> values) { return std::as_writable_bytes(values); }

}  // namespace

bool Engine::stored(ShardColumn column) const {
  return offload_ && offload_->stores.columns().has(column);
}

ShardColumn Engine::master_column() const {
  return config_.type == ElementType::f32 ? ShardColumn::parameters : ShardColumn::master;
}

// Writes the initial values of the unit's parts that are in stores.
Result<Done> Engine::initialize_stored(std::size_t unit) {
  const OptimizerShard& held = plan_.places[unit].held;
  for (const ShardColumn column : {ShardColumn::master, ShardColumn::parameters}) {
    if (!stored(column)) continue;
    const ElementType type = column == ShardColumn::master ? ElementType::f32 : config_.type;
    const auto size = static_cast<std::int64_t>(element_bytes(type));
    std::vector<std::byte> values(
        static_cast<std::size_t>(std::min(chunk, held.shard_size()) * size));
    for (std::int64_t first = 0; first < held.shard_size(); first += chunk) {
      const std::int64_t count = std::min(chunk, held.shard_size() - first);
      const auto part = std::span(values).first(static_cast<std::size_t>(count * size));
      draw_parameters(plan_.units[unit], unit, config_.seed, type, held.param_start + first, part);
      auto done = offload_->stream.write(column, unit, first, part);
      if (!done) return done;
    }
  }
  return Done{};
}

Result<Done> Engine::visit_master(std::size_t unit, const MasterVisitor& visit) {
  const ShardColumn column = master_column();
  if (!stored(column)) return visit(memory_.units[unit].master);
  const std::int64_t all = plan_.places[unit].held.shard_size();
  std::vector<float> values(static_cast<std::size_t>(std::min(chunk, all)));
  for (std::int64_t first = 0; first < all; first += chunk) {
    const auto part =
        std::span(values).first(static_cast<std::size_t>(std::min(chunk, all - first)));
    if (auto done = offload_->stream.read(column, unit, first, bytes_of(part)); !done) return done;
    if (auto done = visit(part); !done) return done;
  }
  return Done{};
}

// A part of the extent: in memory, or read into memory that is kept until the next step.
Result<std::span<float>> Engine::state_part(std::size_t unit, ShardColumn column,
                                            std::span<float> memory) {
  const UnitPlace& place = plan_.places[unit];
  const std::int64_t first = place.shard.param_start - place.held.param_start;
  const auto count = static_cast<std::size_t>(place.shard.shard_size());
  if (!stored(column)) return memory.subspan(static_cast<std::size_t>(first), count);
  const std::span<float> values = read_back_.emplace_back(count);
  auto done = offload_->stream.read(column, unit, first, bytes_of(values));
  if (!done) return done.error();
  return values;
}

Result<Done> Engine::add_extent(std::size_t unit, TrainingState& state) {
  const UnitPlace& place = plan_.places[unit];
  const UnitMemory& memory = memory_.units[unit];
  StateExtent extent{.unit = unit, .first = place.shard.param_start};
  const std::array<ShardColumn, 3> columns = {master_column(), ShardColumn::m, ShardColumn::v};
  const std::array<std::span<float>, 3> memories = {memory.master, memory.m, memory.v};
  const std::array<std::span<float>*, 3> parts = {&extent.master, &extent.m, &extent.v};
  for (std::size_t p = 0; p < parts.size(); ++p) {
    auto values = state_part(unit, columns[p], memories[p]);
    if (!values) return values.error();
    *parts[p] = *values;
  }
  state.extents.push_back(extent);
  return Done{};
}

// Writes values loaded into the extents of state() to the stores.
Result<Done> Engine::store_extents() {
  if (!offload_) return Done{};
  check(extents_read_, "extents are loaded between state() and the next step");
  for (const StateExtent& extent : extents_) {
    const UnitPlace& place = plan_.places[extent.unit];
    const std::int64_t first = place.shard.param_start - place.held.param_start;
    const std::array<std::pair<ShardColumn, std::span<float>>, 3> parts = {
        {{master_column(), extent.master}, {ShardColumn::m, extent.m}, {ShardColumn::v, extent.v}}};
    for (const auto& [column, values] : parts) {
      if (!stored(column) || values.empty()) continue;
      auto done = offload_->stream.write(column, extent.unit, first, bytes_of(values));
      if (!done) return done;
    }
  }
  return Done{};
}

// Stage 0: every rank holds all states and has loaded its own shard of them.
Result<Done> Engine::share_states(std::size_t unit) {
  const UnitMemory& memory = memory_.units[unit];
  const std::array<std::pair<ShardColumn, std::span<float>>, 3> parts = {
      {{master_column(), memory.master}, {ShardColumn::m, memory.m}, {ShardColumn::v, memory.v}}};
  std::vector<float> passing;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const OptimizerShard shard = plan_.places[unit].layout.shard(rank);
    if (shard.shard_size() == 0) continue;
    const auto count = static_cast<std::size_t>(shard.shard_size());
    for (const auto& [column, states] : parts) {
      std::span<float> part;
      if (stored(column)) {
        passing.resize(count);
        part = passing;
        if (rank == comm_.rank()) {
          auto done = offload_->stream.read(column, unit, shard.param_start, bytes_of(part));
          if (!done) return done;
        }
      } else {
        part = states.subspan(static_cast<std::size_t>(shard.param_start), count);
      }
      auto told = wait_for(comm_, broadcast(comm_, part, rank, "loaded state"));
      if (!told) return told.error();
      if (!stored(column) || rank == comm_.rank()) continue;
      auto done = offload_->stream.write(column, unit, shard.param_start, bytes_of(part));
      if (!done) return done;
    }
  }
  return Done{};
}

// bf16: computes the held parameters from their master weights.
Result<Done> Engine::round_unit(std::size_t unit) {
  std::size_t first = 0;
  std::vector<std::byte> rounded;
  return visit_master(unit, [&](std::span<const float> master) -> Result<Done> {
    const std::size_t at = std::exchange(first, first + master.size());
    const std::size_t bytes = master.size() * sizeof(Bf16);
    if (!stored(ShardColumn::parameters)) {
      round_parameters(master, memory_.units[unit].held.subspan(at * sizeof(Bf16), bytes));
      return Done{};
    }
    rounded.resize(bytes);
    round_parameters(master, rounded);
    return offload_->stream.write(ShardColumn::parameters, unit, static_cast<std::int64_t>(at),
                                  rounded);
  });
}

// Waits until the last update's writes are in the stores.
Result<Done> Engine::finish_update() {
  if (!offload_) return Done{};
  const ActivityScope writing(recorder_, Activity::wait_io);
  return offload_->stream.settle();
}

// Begins the first reads of a step as early as their data can no longer change.
Result<Done> Engine::begin_offloaded() {
  if (!offload_) return Done{};
  if (stored(ShardColumn::parameters)) {
    if (auto done = finish_update(); !done) return done;
    if (auto done = exchange_.expect_fetches(plan_.step_fetches); !done) return done;
  }
  return stored(ShardColumn::gradients) ? Done{} : begin_update();
}

// Reads the gradients for their norm, then begins to read them again for the update.
Result<Done> Engine::add_offloaded_squares(std::int32_t exponent, ExactSum& sum) {
  {
    const ActivityScope io(recorder_, Activity::wait_io);
    if (auto done = offload_->gradients->settle(); !done) return done;
    ByColumn<bool> reads{};
    reads[at(ShardColumn::gradients)] = true;
    if (auto done = offload_->stream.begin(reads, {}); !done) return done;
  }
  for (;;) {
    const auto piece = take_piece();
    if (!piece) return piece.error();
    if (!*piece) return begin_update();
    if (config_.type == ElementType::f32) {
      add_squares((*piece)->values<float>(ShardColumn::gradients), exponent, sum);
    } else {
      add_squares((*piece)->values<Bf16>(ShardColumn::gradients), exponent, sum);
    }
    if (auto done = put_back_piece(); !done) return done;
  }
}

// The reads of the update at the end of a step.
Result<Done> Engine::begin_update() {
  const ActivityScope reading(recorder_, Activity::wait_io);
  const ShardColumns& columns = offload_->stores.columns();
  ByColumn<bool> reads = columns.stored;
  ByColumn<bool> writes = columns.stored;
  writes[at(ShardColumn::gradients)] = false;
  if (config_.type != ElementType::f32) reads[at(ShardColumn::parameters)] = false;
  return offload_->stream.begin(reads, writes);
}

Result<std::optional<ShardPiece>> Engine::take_piece() {
  const ActivityScope waiting(recorder_, Activity::wait_io);
  return offload_->stream.take();
}

Result<Done> Engine::put_back_piece() {
  const ActivityScope writing(recorder_, Activity::wait_io);
  return offload_->stream.put_back();
}

Engine::UpdateSpan Engine::span_of(const ShardPiece& piece) const {
  const UnitMemory& unit = memory_.units[piece.unit];
  const auto first = static_cast<std::size_t>(piece.first);
  const std::size_t size = element_bytes(config_.type);
  const auto pick = [&](ShardColumn column, std::byte* memory, std::size_t bytes) {
    return stored(column) ? piece.column[at(column)].data() : memory + first * bytes;
  };
  const auto floats = [&](ShardColumn column, float* memory) {
    return reinterpret_cast<float*>(pick(column, reinterpret_cast<std::byte*>(memory), 4));
  };
  return {.first = piece.first,
          .count = piece.count,
          .gradients = pick(ShardColumn::gradients, unit.reduced.data(), size),
          .master = floats(master_column(), unit.master.data()),
          .m = floats(ShardColumn::m, unit.m.data()),
          .v = floats(ShardColumn::v, unit.v.data()),
          .parameters = pick(ShardColumn::parameters, unit.held.data(), size)};
}

std::vector<std::string> Engine::offload_descriptions() const {
  return offload_ ? offload_->stores.descriptions() : std::vector<std::string>{};
}

// Units in [next, end) are up to date on this rank, so share them. The order is the same on every
// rank, whatever parts it holds.
Result<Done> Engine::share_updated(std::size_t& next, std::size_t end) {
  for (; next < end; ++next) {
    if (config_.stage == 0 || config_.stage == 3) continue;
    if (auto done = exchange_.gather(next); !done) return done;
  }
  return Done{};
}

Result<Done> Engine::update_offloaded(const nn::AdamW& optimizer, float scale) {
  if (auto done = begin_update(); !done) return done;
  std::size_t range = 0;
  std::size_t shared = 0;
  for (;;) {
    const auto piece = take_piece();
    if (!piece) return piece.error();
    if (!*piece) break;
    const std::size_t unit = (*piece)->unit;
    if (auto done = share_updated(shared, unit); !done) return done;
    const UpdateSpan span = span_of(**piece);
    while (range < ranges_.size() && ranges_[range].unit < unit) ++range;
    for (std::size_t r = range; r < ranges_.size() && ranges_[r].unit == unit; ++r)
      update_range(ranges_[r], optimizer, scale, span);
    exchange_.poll();
    if (auto done = put_back_piece(); !done) return done;
  }
  return share_updated(shared, plan_.units.size());
}

}  // namespace stepscope::zero
