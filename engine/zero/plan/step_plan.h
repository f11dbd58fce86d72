// SPDX-License-Identifier: Apache-2.0
// The plan of a rank's step: its actions, their order and their memory. The passes of the network
// are known before the first step. Fetches, releases, reductions and all offsets follow from them.
//
// Stage 0 replicates all model states. Stage 1 shards the optimizer (master weights and moments),
// stage 2 also the gradients, stage 3 also the parameters. With Psi parameters and n ranks, a rank
// holds these bytes in mixed precision (bf16 parameters and gradients, f32 master, m and v):
//   16 Psi,  4 Psi + 12 Psi / n,  2 Psi + 14 Psi / n,  16 Psi / n
// and in f32 (the parameters are their own master):
//   16 Psi,  8 Psi + 8 Psi / n,  4 Psi + 12 Psi / n,  16 Psi / n
// Psi / n stands for the exact size of the rank's own shard (zero/plan/shard.h). All other memory
// has names of its own (ArenaClass), and padding is counted separately.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/nn/network/passes.h"
#include "engine/nn/network/units.h"
#include "engine/zero/drive/shard_stores.h"
#include "engine/zero/plan/shard.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/base/element.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// The point at which the gradients of several micro-batches are added. The two orders of addition
// differ in the last bits. With one micro-batch both are the same.
enum class Accumulation : std::uint8_t {
  reduce_each_microstep,  // sum over ranks, then over micro-batches: shards of gradients suffice
  accumulate_then_reduce  // sum over micro-batches, then over ranks: one reduction per step, but
                          // every stage holds whole gradients meanwhile
};

struct PlanRequest {
  int stage = 0;  // 0 to 3
  int rank = 0;
  int world_size = 1;
  ElementType type = ElementType::f32;  // of parameters, gradients and messages: f32 or bf16
  int micro_batches = 1;                // of a step
  Accumulation accumulation = Accumulation::reduce_each_microstep;
  int prefetch_distance = 1;     // passes by which fetches run ahead (stage 3)
  Bytes bucket_bytes{16 << 20};  // of one message over all ranks; less if units are small
  int buckets = 4;               // limit of unfinished messages
  Bytes activation_bytes{};      // of nn::Network, for the account
  Bytes scratch_bytes{};
  OffloadParts offload{};          // the parts in stores instead of host memory
  Bytes offload_buffer{12 << 20};  // limit of each of the update's three buffers
};

// The purposes of a rank's memory; each has an arena.
enum class ArenaClass : std::uint8_t {
  parameters,             // model state
  gradients,              // model state
  master,                 // model state; none in f32
  moments,                // model state: m and v
  gathered_units,         // stage 3: whole units about to be used
  unit_gradients,         // stages 2 and 3: whole gradients on their way to their owners
  accumulated_gradients,  // of several micro-batches, if `gradients` cannot hold them
  buckets,                // messages
  offload_buffers,        // pieces on their way from and to stores
  activations,
  scratch
};
inline constexpr std::size_t arena_class_count = 11;
inline constexpr std::array<std::string_view, arena_class_count> arena_class_names = {
    "parameters",
    "gradients",
    "master",
    "moments",
    "gathered units",
    "unit gradients",
    "accumulated gradients",
    "buckets",
    "offload buffers",
    "activations",
    "scratch"};
static_assert(arena_class_names[static_cast<std::size_t>(ArenaClass::scratch)] == "scratch");

// The peak of one class during a step.
struct ClassMemory {
  Bytes bytes{};    // of elements
  Bytes padding{};  // added by alignment and equal message lengths
  Bytes unused{};   // of a pool: places that are free at the peak, because units differ in size
  [[nodiscard]] constexpr Bytes arena() const { return bytes + padding + unused; }
  bool operator==(const ClassMemory&) const = default;
};
using ArenaMemory = std::array<ClassMemory, arena_class_count>;

// The places of a unit's data, in bytes from the start of its class's arena.
struct UnitPlace {
  ShardLayout layout;
  OptimizerShard shard;            // this rank's
  std::int64_t parameters_at = 0;  // whole (stages 0 to 2) or this rank's block of `stride`
  std::int64_t states_at = 0;      // of master and of each moment: held.param_start on
  OptimizerShard held;             // the states this rank holds: `shard`, or all (stage 0)
  ArenaClass local_class = ArenaClass::gradients;
  std::int64_t local_at = -1;  // whole gradient of this rank; -1: a place of the pool
  ArenaClass reduced_class = ArenaClass::gradients;
  std::int64_t reduced_at = 0;  // reduced gradient of [held.param_start, held.param_end)
};

enum class ActionKind : std::uint8_t {
  fetch,    // submit the all-gather of `unit` into gathered_units at `place` (stage 3)
  open,     // the unit's whole gradient begins, in unit_gradients at `place`
  use,      // wait for the unit, run pass `pass` of micro-batch `micro_batch`
  reduce,   // sum the unit's gradient over the ranks, piece by piece
  close,    // the pool's gradient is gone
  release,  // the unit's parameters may be overwritten
};
inline constexpr auto action_names = enum_names<ActionKind::release>;
struct Action {
  ActionKind kind = ActionKind::use;
  int micro_batch = 0;
  std::size_t pass = 0;  // index into the passes
  std::size_t unit = 0;
  std::int64_t place = 0;  // bytes from the start of the arena
  bool last = false;       // reduce: the step adds nothing more to this gradient
  bool operator==(const Action&) const = default;
};

// A rank's collectives of one kind in a step.
struct PlannedCalls {
  std::int64_t calls = 0;
  Bytes payload{};  // sum of S over all calls: the reduced or gathered vectors
  Bytes padding{};  // of the payload
};

struct Plan {
  PlanRequest request;
  std::vector<nn::Unit> units;
  std::vector<nn::Pass> passes;             // of one micro-batch
  std::vector<nn::Pass> evaluation_passes;  // of one batch
  std::vector<UnitPlace> places{};          // by unit
  std::vector<Action> step{};
  std::vector<Action> evaluation{};  // of one batch
  // The units of these lists in fetch order (stage 3).
  std::vector<std::size_t> step_fetches{};
  std::vector<std::size_t> evaluation_fetches{};
  ArenaMemory memory{};
  // The largest number of elements that one message carries for each rank, and the bytes of a
  // message's place.
  std::int64_t bucket_elements = 0;
  std::int64_t bucket_place = 0;

  [[nodiscard]] Bytes model_state() const;  // of the first four classes, without padding
  [[nodiscard]] Bytes total() const;        // of all arenas
};

// Error: the request is invalid (stage, type, sizes).
[[nodiscard]] Result<Plan> make_plan(const PlanRequest& request, std::vector<nn::Unit> units,
                                     std::vector<nn::Pass> passes,
                                     std::vector<nn::Pass> evaluation_passes);

// The collectives of one step, without a few small sums: gradients (all_reduce, reduce_scatter) and
// parameters (all_gather; stages 1 and 2: after the update).
[[nodiscard]] PlannedCalls planned_calls(const Plan& plan, CollectiveKind kind);

// Whether the pass reads its unit's parameters. All passes do except embed_backward, which only
// adds rows.
[[nodiscard]] constexpr bool reads_parameters(const nn::Pass& pass) {
  return pass.kind != nn::PassKind::embed_backward;
}

// The part of a unit whose optimizer states a rank holds: its shard, or all of the unit (stage 0).
// REQUIRES: 0 <= rank < world_size.
[[nodiscard]] OptimizerShard held_shard(const PlanRequest& request, std::int64_t elements,
                                        int rank);

// A text for people: memory by class, then the order of a step's fetches and reductions.
[[nodiscard]] std::string plan_text(const Plan& plan);

// The parts of ArenaClass::offload_buffers, in this order. Each begins at whole blocks of a store.
struct OffloadBuffers {
  Bytes stream{};  // of the update
  std::size_t gradient_slots = 0;
  Bytes gradient_slot{};
  std::size_t parameter_slots = 0;
  Bytes parameter_slot{};
};
[[nodiscard]] OffloadBuffers offload_buffers(const Plan& plan);
// By unit: the elements whose states this rank holds, and the elements that its places in stores
// can hold, including the padding of gathered parameters.
[[nodiscard]] std::vector<std::int64_t> held_elements(const Plan& plan);
[[nodiscard]] std::vector<std::int64_t> stored_elements(const Plan& plan);
// The columns in stores, and the space that their files take.
[[nodiscard]] ShardColumns stored_columns(const PlanRequest& request);
[[nodiscard]] Bytes file_bytes(const Plan& plan);

}  // namespace stepscope::zero
