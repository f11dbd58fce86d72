// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/plan/step_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/zero/drive/shard_stream.h"

namespace stepscope::zero {
namespace {

constexpr std::int64_t line = 64;  // alignment of parts in arenas

// Assigns places in one arena to objects that come and go in a known order: each gets the lowest
// gap that fits.
class PlacePool {
 public:
  // The place in bytes from the start of the arena, a multiple of 64. `used` of the `bytes` hold
  // elements.
  [[nodiscard]] std::int64_t take(std::int64_t bytes, std::int64_t used);
  void give_back(std::int64_t place);

  [[nodiscard]] std::int64_t extent() const { return extent_; }        // of the arena
  [[nodiscard]] std::int64_t peak_used() const { return peak_used_; }  // of elements at once
  // The padding of the places that held them.
  [[nodiscard]] std::int64_t peak_padding() const { return peak_taken_ - peak_used_; }

 private:
  struct Taken {
    std::int64_t bytes = 0;
    std::int64_t used = 0;
  };
  std::map<std::int64_t, Taken> taken_;
  std::int64_t extent_ = 0;
  std::int64_t used_ = 0;
  std::int64_t places_ = 0;  // bytes of the places that are taken
  std::int64_t peak_used_ = 0;
  std::int64_t peak_taken_ = 0;
};

std::int64_t PlacePool::take(std::int64_t bytes, std::int64_t used) {
  const std::int64_t wanted = std::max(line, (bytes + line - 1) / line * line);
  std::int64_t place = 0;
  for (const auto& [start, taken] : taken_) {
    if (start - place >= wanted) break;
    place = start + taken.bytes;
  }
  taken_.emplace(place, Taken{.bytes = wanted, .used = used});
  extent_ = std::max(extent_, place + wanted);
  used_ += used;
  places_ += wanted;
  if (used_ > peak_used_) {
    peak_used_ = used_;
    peak_taken_ = places_;
  }
  return place;
}

void PlacePool::give_back(std::int64_t place) {
  const auto it = taken_.find(place);
  check(it != taken_.end(), "a place is given back once, after it was taken");
  used_ -= it->second.used;
  places_ -= it->second.bytes;
  taken_.erase(it);
}

std::int64_t type_bytes(ElementType type) { return static_cast<std::int64_t>(element_bytes(type)); }

ClassMemory& memory_of(Plan& plan, ArenaClass c) {
  return plan.memory[static_cast<std::size_t>(c)];
}

// The next place of an arena with a fixed layout.
std::int64_t append(ClassMemory& memory, std::int64_t used, std::int64_t reserved) {
  const std::int64_t place = memory.arena().value;
  const std::int64_t padded = (reserved + line - 1) / line * line;
  memory.bytes += Bytes{used};
  memory.padding += Bytes{padded - used};
  return place;
}

bool several(const PlanRequest& request) { return request.micro_batches > 1; }
bool accumulates_whole(const PlanRequest& request) {
  return several(request) && request.accumulation == Accumulation::accumulate_then_reduce;
}
bool reduces_each(const PlanRequest& request) {
  return several(request) && request.accumulation == Accumulation::reduce_each_microstep;
}

// Gradients: the rank's own (local) and its reduced ones.
void place_gradients(Plan& plan, UnitPlace& place) {
  const PlanRequest& request = plan.request;
  const std::int64_t size = type_bytes(request.type);
  const std::int64_t whole = place.layout.elements * size;
  const std::int64_t own = place.shard.shard_size() * size;
  ClassMemory& gradients = memory_of(plan, ArenaClass::gradients);
  ClassMemory& accumulated = memory_of(plan, ArenaClass::accumulated_gradients);
  if (request.stage <= 1) {
    place.local_at = append(gradients, whole, whole);
    place.reduced_at = place.local_at;
    if (request.stage == 1) place.reduced_at += place.shard.param_start * size;
    if (!reduces_each(request)) return;
    const std::int64_t kept = request.stage == 0 ? whole : own;
    place.reduced_class = ArenaClass::accumulated_gradients;
    place.reduced_at = append(accumulated, kept, kept);
    return;
  }
  if (!request.offload.gradients) place.reduced_at = append(gradients, own, own);
  place.local_class = ArenaClass::unit_gradients;
  if (!accumulates_whole(request)) return;
  place.local_class = ArenaClass::accumulated_gradients;
  place.local_at = append(accumulated, whole, whole);
}

UnitPlace place_unit(Plan& plan, std::int64_t elements) {
  const PlanRequest& request = plan.request;
  const std::int64_t size = type_bytes(request.type);
  UnitPlace place;
  place.layout = shard_layout(request.world_size, elements);
  place.shard = place.layout.shard(request.rank);
  place.held = held_shard(request, elements, request.rank);
  const std::int64_t whole = elements * size;
  ClassMemory& parameters = memory_of(plan, ArenaClass::parameters);
  if (request.stage < 3) {
    place.parameters_at = append(parameters, whole, whole);
  } else if (!request.offload.parameters) {
    place.parameters_at =
        append(parameters, place.shard.shard_size() * size, place.layout.stride * size);
  }
  place_gradients(plan, place);
  // master and each moment have the same layout, so one offset serves all three.
  const std::int64_t states = place.held.shard_size() * 4;
  if (request.offload.optimizer) return place;
  ClassMemory one = memory_of(plan, ArenaClass::moments);
  one = {.bytes = {one.bytes.value / 2}, .padding = {one.padding.value / 2}};
  place.states_at = append(one, states, states);
  memory_of(plan, ArenaClass::moments) = {.bytes = one.bytes * 2, .padding = one.padding * 2};
  if (request.type != ElementType::f32) memory_of(plan, ArenaClass::master) = one;
  return place;
}

// Lists the actions of `micro_batches` times `passes`.
class Scheduler {
 public:
  Scheduler(const Plan& plan, const std::vector<nn::Pass>& passes, int micro_batches, bool training)
      : plan_(plan),
        passes_(passes),
        count_(passes.size() * static_cast<std::size_t>(micro_batches)),
        micro_batches_(micro_batches),
        training_(training),
        fetched_(plan.units.size()),
        open_(plan.units.size()) {}

  std::vector<Action> actions() {
    for (std::size_t at = 0; at < count_; ++at) add_pass(at);
    return std::move(out_);
  }
  [[nodiscard]] const PlacePool& gathered() const { return gathered_; }
  [[nodiscard]] const PlacePool& gradients() const { return gradients_; }

 private:
  [[nodiscard]] const nn::Pass& pass(std::size_t at) const { return passes_[at % passes_.size()]; }
  [[nodiscard]] Action action(ActionKind kind, std::size_t at, std::size_t unit) const {
    return {.kind = kind,
            .micro_batch = static_cast<int>(at / passes_.size()),
            .pass = at % passes_.size(),
            .unit = unit};
  }
  [[nodiscard]] std::size_t window_end(std::size_t at) const {
    const auto depth = static_cast<std::size_t>(plan_.request.prefetch_distance);
    return std::min(count_, at + 1 + depth);
  }
  [[nodiscard]] bool wanted(std::size_t unit, std::size_t first, std::size_t end) const {
    for (std::size_t at = first; at < end; ++at) {
      if (pass(at).unit == unit && reads_parameters(pass(at))) return true;
    }
    return false;
  }

  void fetch_window(std::size_t at) {
    const std::int64_t size = type_bytes(plan_.request.type);
    for (std::size_t ahead = at; ahead < window_end(at); ++ahead) {
      const std::size_t unit = pass(ahead).unit;
      if (!reads_parameters(pass(ahead)) || fetched_[unit]) continue;
      const ShardLayout& layout = plan_.places[unit].layout;
      fetched_[unit] = gathered_.take(layout.padded_elements() * size, layout.elements * size);
      Action fetch = action(ActionKind::fetch, at, unit);
      fetch.place = *fetched_[unit];
      out_.push_back(fetch);
    }
  }

  void release_before(std::size_t next) {
    const std::size_t end = next < count_ ? window_end(next) : next;
    for (std::size_t unit = 0; unit < fetched_.size(); ++unit) {
      if (!fetched_[unit] || wanted(unit, next, end)) continue;
      gathered_.give_back(*fetched_[unit]);
      fetched_[unit].reset();
      out_.push_back(action(ActionKind::release, next - 1, unit));
    }
  }

  void add_pass(std::size_t at) {
    const nn::Pass& now = pass(at);
    const UnitPlace& place = plan_.places[now.unit];
    const bool whole_step = accumulates_whole(plan_.request);
    const bool pooled = training_ && place.local_at < 0;
    if (plan_.request.stage == 3) fetch_window(at);
    if (pooled && now.writes_gradient && now.first_gradient) {
      const std::int64_t bytes = place.layout.elements * type_bytes(plan_.request.type);
      open_[now.unit] = gradients_.take(bytes, bytes);
      Action open = action(ActionKind::open, at, now.unit);
      open.place = *open_[now.unit];
      out_.push_back(open);
    }
    Action use = action(ActionKind::use, at, now.unit);
    use.place = fetched_[now.unit].value_or(0);
    out_.push_back(use);
    const bool final = use.micro_batch + 1 == micro_batches_;
    if (training_ && now.last_gradient && (final || !whole_step)) {
      Action reduce = action(ActionKind::reduce, at, now.unit);
      reduce.last = final;
      out_.push_back(reduce);
    }
    if (pooled && now.last_gradient && open_[now.unit]) {
      gradients_.give_back(*open_[now.unit]);
      open_[now.unit].reset();
      out_.push_back(action(ActionKind::close, at, now.unit));
    }
    if (plan_.request.stage == 3) release_before(at + 1);
  }

  const Plan& plan_;
  const std::vector<nn::Pass>& passes_;
  std::size_t count_;
  int micro_batches_;
  bool training_;
  PlacePool gathered_;
  PlacePool gradients_;
  std::vector<std::optional<std::int64_t>> fetched_;
  std::vector<std::optional<std::int64_t>> open_;
  std::vector<Action> out_;
};

std::optional<Error> refuse(const PlanRequest& request) {
  const auto error = [](std::string what, std::string hint) {
    return Error{.what = std::move(what), .hint = std::move(hint)};
  };
  if (request.stage < 0 || request.stage > 3) {
    return error("there is no ZeRO stage " + std::to_string(request.stage), "take 0, 1, 2 or 3");
  }
  if (request.world_size < 1 || request.rank < 0 || request.rank >= request.world_size) {
    return error("rank " + std::to_string(request.rank) + " of " +
                     std::to_string(request.world_size) + " ranks is none",
                 "ranks count from 0");
  }
  if (request.type != ElementType::f32 && request.type != ElementType::bf16) {
    return error("no training in " + std::string(element_name(request.type)), "take f32 or bf16");
  }
  if (request.micro_batches < 1) return error("a step without micro-batches", "take one or more");
  if (request.prefetch_distance < 0) return error("a negative prefetch depth", "take 0 or more");
  if (request.buckets < 1 || request.bucket_bytes.value < 1) {
    return error("no buckets to reduce with", "take a bucket of a byte or more");
  }
  if (request.offload.gradients && request.stage < 2) {
    return error("gradients cannot be offloaded at stage " + std::to_string(request.stage) +
                     ", where every rank keeps them whole",
                 "take stage 2 or 3");
  }
  if (request.offload.parameters && request.stage < 3) {
    return error("parameters cannot be offloaded at stage " + std::to_string(request.stage) +
                     ", where every rank keeps them whole",
                 "take stage 3");
  }
  return std::nullopt;
}

std::vector<std::size_t> fetches_of(const std::vector<Action>& actions) {
  std::vector<std::size_t> units;
  for (const Action& action : actions)
    if (action.kind == ActionKind::fetch) units.push_back(action.unit);
  return units;
}

// For each rank a message carries as many elements as fit the bucket's bytes, but no more than the
// longest unit needs to fill all buckets. Memory that no message needs is not planned.
void size_buckets(Plan& plan) {
  const PlanRequest& request = plan.request;
  const std::int64_t size = type_bytes(request.type);
  constexpr std::int64_t block = 16;
  std::int64_t longest = 1;
  for (const UnitPlace& place : plan.places) longest = std::max(longest, place.layout.stride);
  const std::int64_t elements =
      std::min(request.bucket_bytes.value / (size * request.world_size), longest / request.buckets);
  plan.bucket_elements =
      elements >= block ? elements / block * block : std::max<std::int64_t>(1, elements);
  if (request.offload.gradients) {  // messages start at whole blocks of the file
    const std::int64_t page = static_cast<std::int64_t>(offload_alignment) / size;
    plan.bucket_elements = std::min(longest, std::max(page, elements / page * page));
  }
  if (request.stage == 0) return;
  const std::int64_t used = plan.bucket_elements * size * request.world_size;
  plan.bucket_place = (used + line - 1) / line * line;
  memory_of(plan, ArenaClass::buckets) = {
      .bytes = {used * request.buckets}, .padding = {(plan.bucket_place - used) * request.buckets}};
}

}  // namespace

OptimizerShard held_shard(const PlanRequest& request, std::int64_t elements, int rank) {
  return request.stage == 0 ? shard_layout(1, elements).shard(0)
                            : shard_layout(request.world_size, elements).shard(rank);
}

std::vector<std::int64_t> held_elements(const Plan& plan) {
  std::vector<std::int64_t> counts;
  for (const UnitPlace& place : plan.places) counts.push_back(place.held.shard_size());
  return counts;
}

std::vector<std::int64_t> stored_elements(const Plan& plan) {
  std::vector<std::int64_t> counts;
  for (const UnitPlace& place : plan.places)
    counts.push_back(std::max(place.held.shard_size(), place.layout.stride));
  return counts;
}

ShardColumns stored_columns(const PlanRequest& request) {
  return offloaded_columns(request.offload, request.type);
}

OffloadBuffers offload_buffers(const Plan& plan) {
  const PlanRequest& request = plan.request;
  const std::int64_t size = type_bytes(request.type);
  const auto blocks = [&](std::int64_t elements) {
    return Bytes{
        static_cast<std::int64_t>(offload_aligned(static_cast<std::uint64_t>(elements * size)))};
  };
  OffloadBuffers buffers;
  buffers.stream = ShardStream::buffers_for(stored_columns(request), held_elements(plan),
                                            request.offload_buffer);
  if (request.offload.gradients) {
    // Each unfinished message has one slot; two more slots are being written.
    buffers.gradient_slots = static_cast<std::size_t>(request.buckets) + 2;
    buffers.gradient_slot = blocks(plan.bucket_elements);
  }
  if (request.offload.parameters) {
    // Slots for unfinished fetches, and two that are being read.
    constexpr int max_slots = 4;
    buffers.parameter_slots =
        static_cast<std::size_t>(std::min(request.prefetch_distance + 2, max_slots));
    std::int64_t longest = 0;
    for (const UnitPlace& place : plan.places) longest = std::max(longest, place.layout.stride);
    buffers.parameter_slot = blocks(longest);
  }
  return buffers;
}

Bytes file_bytes(const Plan& plan) {
  return ShardStores::bytes_for(stored_columns(plan.request), stored_elements(plan));
}

Bytes Plan::model_state() const {
  Bytes sum{};
  for (const ArenaClass c :
       {ArenaClass::parameters, ArenaClass::gradients, ArenaClass::master, ArenaClass::moments}) {
    sum += memory[static_cast<std::size_t>(c)].bytes;
  }
  return sum;
}

Bytes Plan::total() const {
  Bytes sum{};
  for (const ClassMemory& one : memory) sum += one.arena();
  return sum;
}

Result<Plan> make_plan(const PlanRequest& request, std::vector<nn::Unit> units,
                       std::vector<nn::Pass> passes, std::vector<nn::Pass> evaluation_passes) {
  if (auto error = refuse(request)) return *std::move(error);
  Plan plan{.request = request,
            .units = std::move(units),
            .passes = std::move(passes),
            .evaluation_passes = std::move(evaluation_passes)};
  for (const nn::Unit& unit : plan.units) plan.places.push_back(place_unit(plan, unit.count));
  size_buckets(plan);
  const OffloadBuffers buffers = offload_buffers(plan);
  memory_of(plan, ArenaClass::offload_buffers).bytes =
      buffers.stream + buffers.gradient_slot * static_cast<std::int64_t>(buffers.gradient_slots) +
      buffers.parameter_slot * static_cast<std::int64_t>(buffers.parameter_slots);
  memory_of(plan, ArenaClass::activations).bytes = request.activation_bytes;
  memory_of(plan, ArenaClass::scratch).bytes = request.scratch_bytes;

  Scheduler step(plan, plan.passes, request.micro_batches, true);
  Scheduler evaluation(plan, plan.evaluation_passes, 1, false);
  auto step_actions = step.actions();
  auto evaluation_actions = evaluation.actions();
  plan.step = std::move(step_actions);
  plan.evaluation = std::move(evaluation_actions);
  plan.step_fetches = fetches_of(plan.step);
  plan.evaluation_fetches = fetches_of(plan.evaluation);
  const auto pool = [&](ArenaClass c, const PlacePool& peak, std::int64_t extent) {
    memory_of(plan, c) = {.bytes = {peak.peak_used()},
                          .padding = {peak.peak_padding()},
                          .unused = {extent - peak.peak_used() - peak.peak_padding()}};
  };
  const bool evaluates_more = evaluation.gathered().peak_used() > step.gathered().peak_used();
  pool(ArenaClass::gathered_units, evaluates_more ? evaluation.gathered() : step.gathered(),
       std::max(step.gathered().extent(), evaluation.gathered().extent()));
  pool(ArenaClass::unit_gradients, step.gradients(), step.gradients().extent());
  return plan;
}

}  // namespace stepscope::zero
