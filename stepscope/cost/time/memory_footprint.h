// SPDX-License-Identifier: Apache-2.0
// The memory of one device at the fullest moment of a step, part by part.
//
// With Psi parameters of this device (its tensor and pipeline share; ZeRO never divides by tp or pp
// again) and n ranks that share states (dp * cp, the shard group, or for experts dp * cp / ep):
//
//   parameters  p Psi; ZeRO-3 p Psi / n and the gathered units
//   gradients   a Psi; ZeRO-2 and 3 a Psi / n and the buckets in flight
//   master, optimizer states  (w + s) Psi; ZeRO-1 to 3 (w + s) Psi / n
//
// with p, a, w, s bytes of plan.precision: 16 Psi, 4 Psi + 12 Psi/n, 2 Psi + 14 Psi/n, 16 Psi/n for
// AdamW in mixed precision with 16-bit gradients (Rajbhandari et al. 2020). Frozen weights have p
// alone: a, w and s count the trained part of Psi.
//
// With plan.memory.torch_buffers the parts are as in PyTorch (torch/distributed/fsdp/_fully_shard,
// torch/distributed/pipelining/stage.py): - ZeRO-3 gathers from the master's shards and keeps no
// narrower ones. - Layers are gathered into a buffer and copied out of it. - Embedding and head
// belong to the root, one unit that stays gathered. - ZeRO-1 is fully_shard that neither reshards
// nor reduces between passes (its mode in a pipeline).
//   Gradients are made in the parameters' format, summed, and reduced into memory of their own.
// - A pipeline stage has a buffer for each input and each gradient that it receives in a step. It
//   keeps each sent tensor until its gradient arrives.
// - A linear layer keeps its input gathered over tp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

enum class MemoryTerm : std::uint8_t {
  parameters,   // as the matmuls read them
  gathered,     // ZeRO-3: units that are whole at the moment, also those fetched from the host
  gradients,    // in the type of the sum over micro-batches
  buckets,      // gradients on their way to their owners
  master,       // the parameters that the optimizer updates
  optimizer,    // its states
  activations,  // kept for backward, of all micro-batches in flight, and passed_bytes
  workspace,    // of the running layer: recomputed data, and data between two operations
  logits        // scores of the vocabulary and their gradient
};
inline constexpr std::size_t memory_term_count = 9;
inline constexpr std::array<std::string_view, memory_term_count> memory_term_names = {
    "parameters", "gathered",    "gradients", "buckets", "master",
    "optimizer",  "activations", "workspace", "logits"};
static_assert(memory_term_names[static_cast<std::size_t>(MemoryTerm::logits)] == "logits");

// The data of a pipeline device for one micro-batch, without ZeRO.
struct StageLoad {
  double parameters = 0;  // all but experts; elements
  double expert_parameters = 0;
  double trained = 0;  // the parts of these with gradients and states
  double trained_experts = 0;
  double unit_trained = 0;     // of the unit with most gradients, with experts
  double unit_parameters = 0;  // of its largest unit (a layer, the embedding, the head)
  double unit_expert_parameters = 0;
  double layer_parameters = 0;  // of its largest layer, with experts
  double end_parameters = 0;    // of embedding and head
  double activation_bytes = 0;  // kept by all its layers
  double workspace_bytes = 0;   // of its fullest layer
  double logits_bytes = 0;
  double passed_bytes = 0;  // held for or from pipeline neighbours, of all micro-batches
  double in_flight = 1;     // micro-batches (pipeline.h)
};

struct Memory {
  std::array<double, memory_term_count> bytes{};  // on the device
  double host_bytes = 0;                          // offloaded to the host
  double nvme_bytes = 0;

  [[nodiscard]] double operator[](MemoryTerm t) const { return bytes[static_cast<std::size_t>(t)]; }
  [[nodiscard]] double total() const {
    double sum = 0;
    for (const double b : bytes) sum += b;
    return sum;
  }
};

[[nodiscard]] Memory memory_of(const Plan& plan, const StageLoad& load);

// The same parts as formulas.
struct MemoryPart {
  MemoryTerm term;
  Residence place;
  Formula bytes;
};
[[nodiscard]] std::vector<MemoryPart> memory_parts(const Plan& plan, const StageLoad& load);

// Ranks over which the states of one weight are sharded: for all weights but experts, and for
// experts.
struct ShardCounts {
  std::int64_t dense = 1;
  std::int64_t expert = 1;
};
[[nodiscard]] ShardCounts shard_counts(const Plan& plan);

// The groups whose members hold the second copy of the parameters between them (hpZ).
[[nodiscard]] ShardCounts secondary_counts(const Plan& plan);

// The effects of torch_buffers: ZeRO-3 holds no shards but the master's; weights pass through
// gather buffers; gradients are reduced into memory of their own.
[[nodiscard]] bool gathers_from_master(const Plan& plan);
[[nodiscard]] bool gathers_into_buffers(const Plan& plan);
[[nodiscard]] bool reduces_apart(const Plan& plan);

// ZeRO-2 and 3 pass gradients to their owners after every pass, whatever the plan says, because no
// other rank has memory for them.
[[nodiscard]] constexpr bool reduces_each_micro_batch(const Plan& plan) {
  return plan.zero >= 2 || plan.batch.reduce_each_micro;
}
// A shard group that keeps the sum of its gradients averages it with the other groups once a step,
// with the last pass: MiCS' second hop (Zhang et al. 2022 §3.4; deepspeed/runtime/zero/mics.py,
// allreduce_mics_shard_grads), Megatron's optimizer instances, and FSDP2 with
// set_requires_all_reduce(False) before.
[[nodiscard]] constexpr bool averages_each_micro_batch(const Plan& plan) {
  return plan.zero < 2 && plan.batch.reduce_each_micro;
}

// Bytes that a plan needs beyond the capacity of one device, its share of the host, or of the
// drives. 0 if the memory is enough, or if the machine does not give its capacity.
struct Shortage {
  double device = 0;
  double host = 0;
  double nvme = 0;
  [[nodiscard]] bool any() const { return device > 0 || host > 0 || nvme > 0; }
};
[[nodiscard]] Shortage shortage(const Memory& memory, const Machine& machine);

}  // namespace stepscope
