// SPDX-License-Identifier: Apache-2.0
// What a rank does in a step, in which order and in how much memory, known before the first step:
// the passes of the network are, so fetches, releases, reductions and every offset follow from
// them.
//
// Stage 0 replicates all of the model's states; stage 1 shards the optimizer (master weights and
// moments), stage 2 the gradients too, stage 3 the parameters too. With Psi parameters and n ranks
// a rank holds, of mixed precision (bf16 parameters and gradients, f32 master, m and v):
//   16 Psi,  4 Psi + 12 Psi / n,  2 Psi + 14 Psi / n,  16 Psi / n
// and of f32 (where the parameters are their own master):
//   16 Psi,  8 Psi + 8 Psi / n,  4 Psi + 12 Psi / n,  16 Psi / n
// where Psi / n is the rank's own shard, exactly (zero/plan/shard.h). Everything else has a name of
// its own (ArenaClass), and padding is counted apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/nn/network/passes.h"
#include "stepscope/nn/network/units.h"
#include "stepscope/zero/drive/shard_files.h"
#include "stepscope/zero/plan/shard.h"

namespace stepscope::zero {

// When gradients of several micro-batches become one. The sums differ in their last bits, because
// they add in another order; with one micro-batch both are the same.
enum class Accumulation : std::uint8_t {
  reduce_each_microstep,  // sum over ranks, then over micro-batches: shards of gradients suffice
  accumulate_then_reduce  // sum over micro-batches, then over ranks: one reduction a step, but
                          // every stage holds whole gradients meanwhile
};

struct PlanRequest {
  int stage = 0;  // 0 to 3
  int rank = 0;
  int world_size = 1;
  ElementType type = ElementType::f32;  // of parameters, gradients and messages: f32 or bf16
  int micro_batches = 1;                // of a step
  Accumulation accumulation = Accumulation::reduce_each_microstep;
  int prefetch_depth = 1;        // passes that a unit's parameters arrive ahead (stage 3)
  Bytes bucket_bytes{16 << 20};  // of one message, of all ranks; less where units are small
  int buckets = 4;               // messages under way at most
  Bytes activation_bytes{};      // of nn::Network, for the account
  Bytes scratch_bytes{};
  OffloadParts offload{};          // what is in files instead of memory
  Bytes offload_buffer{12 << 20};  // of one of the update's three buffers, at most
};

// What a rank's memory is for; one arena each.
enum class ArenaClass : std::uint8_t {
  parameters,             // model state
  gradients,              // model state
  master,                 // model state; none in f32
  moments,                // model state: m and v
  gathered_units,         // stage 3: whole units about to be used
  unit_gradients,         // stages 2 and 3: whole gradients on their way to their owners
  accumulated_gradients,  // of several micro-batches, where `gradients` cannot hold them
  buckets,                // messages
  offload_buffers,        // pieces on their way from and to files
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

// Of one class at the fullest moment of a step.
struct ClassMemory {
  Bytes bytes{};    // of elements
  Bytes padding{};  // what alignment, equal message lengths and gaps of the pool add
  [[nodiscard]] constexpr Bytes arena() const { return bytes + padding; }
  bool operator==(const ClassMemory&) const = default;
};
using ArenaMemory = std::array<ClassMemory, arena_class_count>;

// Where a unit's data lies, in bytes from the start of its class's arena.
struct UnitPlace {
  ShardLayout layout;
  OptimizerShard shard;            // this rank's
  std::int64_t parameters_at = 0;  // whole (stages 0 to 2) or this rank's block of `stride`
  std::int64_t states_at = 0;      // of master and of each moment: held.param_start on
  OptimizerShard held;             // whose states this rank holds: `shard`, or all (stage 0)
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
inline constexpr std::array<std::string_view, 6> action_names = {"fetch",  "open",  "use",
                                                                 "reduce", "close", "release"};
struct Action {
  ActionKind kind = ActionKind::use;
  int micro_batch = 0;
  std::size_t pass = 0;  // index into the passes
  std::size_t unit = 0;
  std::int64_t place = 0;  // bytes from the start of the arena
  bool last = false;       // reduce: nothing is added to this gradient in this step afterwards
  bool operator==(const Action&) const = default;
};

// Collectives of one kind that a rank asks for in a step.
struct PlannedCalls {
  std::int64_t calls = 0;
  Bytes payload{};  // S of each call summed: the reduced or gathered vector of all ranks
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
  // Units in the order of their fetches in these (stage 3).
  std::vector<std::size_t> step_fetches{};
  std::vector<std::size_t> evaluation_fetches{};
  ArenaMemory memory{};
  // Elements that one message carries for each rank at most, and bytes of a message's place.
  std::int64_t bucket_elements = 0;
  std::int64_t bucket_place = 0;

  [[nodiscard]] Bytes model_state() const;  // of the first four classes, without padding
  [[nodiscard]] Bytes total() const;        // of all arenas
};

// An error where the request makes no sense (stage, type, sizes).
[[nodiscard]] Result<Plan> make_plan(const PlanRequest& request, std::vector<nn::Unit> units,
                                     std::vector<nn::Pass> passes,
                                     std::vector<nn::Pass> evaluation_passes);

// What one step asks of the group besides a few small sums: gradients (all_reduce, reduce_scatter)
// and parameters (all_gather; stages 1 and 2: after the update).
[[nodiscard]] PlannedCalls planned_calls(const Plan& plan, CollectiveKind kind);

// Whether the pass reads its unit's parameters: all but embed_backward, which only adds rows.
[[nodiscard]] constexpr bool reads_parameters(const nn::Pass& pass) {
  return pass.kind != nn::PassKind::embed_backward;
}

// For people: memory by class, then order of fetches and reductions of a step.
[[nodiscard]] std::string plan_text(const Plan& plan);

// What ArenaClass::offload_buffers is for, in this order; each at whole blocks of a file.
struct OffloadBuffers {
  Bytes stream{};  // of the update
  std::size_t gradient_slots = 0;
  Bytes gradient_slot{};
  std::size_t parameter_slots = 0;
  Bytes parameter_slot{};
};
[[nodiscard]] OffloadBuffers offload_buffers(const Plan& plan);
// By unit: the elements whose states this rank holds; and those that its places in files have room
// for, padding of gathered parameters included.
[[nodiscard]] std::vector<std::int64_t> held_elements(const Plan& plan);
[[nodiscard]] std::vector<std::int64_t> file_elements(const Plan& plan);
// The columns that are in files, and what those files take of the device.
[[nodiscard]] ShardColumns file_columns(const PlanRequest& request);
[[nodiscard]] Bytes file_bytes(const Plan& plan);

}  // namespace stepscope::zero
