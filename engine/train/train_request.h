// SPDX-License-Identifier: Apache-2.0
// What a run of training is asked to do. Errors of a request name the flags of `stepscope train`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/nn/network/passes.h"
#include "engine/zero/engine/engine_config.h"
#include "engine/zero/train/data.h"
#include "stepscope/base/element.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// Which steps a trace has, as torch.profiler.schedule counts: `wait` steps off, `warmup` steps
// recorded and thrown away, `active` recorded; `repeat` times (0: until the end).
struct TraceSchedule {
  std::int64_t wait = 2;
  std::int64_t warmup = 1;
  std::int64_t active = 5;
  std::int64_t repeat = 1;

  // Step of this run, counted from 0.
  [[nodiscard]] bool records(std::int64_t step) const {
    const std::int64_t period = wait + warmup + active;
    if (period <= 0 || step < 0) return false;
    if (repeat > 0 && step >= repeat * period) return false;
    return step % period >= wait + warmup;
  }
};

// A fault that a run is to show.
enum class FaultKind : std::uint8_t {
  slow,      // rank R computes P % longer
  sleep,     // rank R sleeps a time before each step
  throttle,  // every link gets a latency and a rate
  data,      // rank R's data come a time later
  sync,      // rank R waits for each message where it submits it
  kill,      // rank R gets SIGKILL
  stop,      // rank R gets SIGSTOP
};
// Where a rank is killed or stopped.
enum class FaultPhase : std::uint8_t {
  start,       // before it has made its engine
  data,        // before it reads a batch
  forward,     // a layer's forward pass begins
  backward,    // a layer's backward pass begins
  exchange,    // the first gradients of the step have been exchanged, others are under way
  optimizer,   // gradients are agreed upon, the update begins
  checkpoint,  // the step begins: the checkpoint before it is being written
};
inline constexpr auto fault_phase_names = enum_names<FaultPhase::checkpoint>;
struct TrainFault {
  FaultKind kind = FaultKind::slow;
  FaultPhase phase = FaultPhase::start;  // kill, stop
  int rank = -1;                         // -1: all
  double percent = 0;                    // slow
  Ns time{};                             // sleep, data; latency of a throttled link
  ByteRate rate{};                       // of a throttled link
  std::int64_t from = 0;                 // first step, counted from 0
  std::int64_t until = -1;               // one past the last; -1: to the end
  std::string text{};                    // as the user wrote it, for messages
};
// Whether the fault ends or halts a process, once.
[[nodiscard]] inline bool ends_a_rank(const TrainFault& fault) {
  return fault.kind == FaultKind::kill || fault.kind == FaultKind::stop;
}

// Ranks of a run on one machine have a limit of their own (most_sharing_ranks).
inline constexpr int most_planned_ranks = 1 << 20;

struct TrainRequest {
  // The model and what it reads.
  std::string preset = "gpt2-tiny";                // a network of nn/network/presets.h
  std::vector<std::string> data{};                 // files of text or tokens; one or more
  std::optional<zero::TokenFormat> data_format{};  // of all files; absent: by their first bytes
  double validation = 0;                           // share of the samples kept for evaluation
  std::optional<double> dropout{};                 // share of activations; absent: the preset's
  std::string init_from{};    // a .safetensors file or an llm.c checkpoint; empty: random weights
  std::uint64_t seed = 1337;  // of initial values, data order and dropout

  // The job.
  int ranks = 0;  // 0: the cores that this process may use, or what a launcher has started
  // "threads": ranks are threads of this process. "shm": processes of this machine (train.h).
  // "mpi", "mpi-messages": what mpirun or srun has started, the latter without shared memory.
  // Empty: mpi where a launcher has started this process, else shm.
  std::string transport = "threads";
  int zero = 3;                              // stage, 0 to 3
  ElementType precision = ElementType::f32;  // f32, or bf16 with f32 master weights
  std::int64_t batch = 8;                    // sequences of a micro-batch of one rank
  std::int64_t sequence = 0;      // tokens of a sequence; 0: the model's context, at most 128
  std::int64_t accumulation = 1;  // micro-batches of a step
  zero::Accumulation accumulate = zero::Accumulation::reduce_each_microstep;
  std::int64_t steps = 50;  // of the whole run, a resumed one's earlier steps included

  // AdamW.
  double learning_rate = 3e-4;
  double minimum_rate = 0;  // where a falling schedule ends
  std::int64_t warmup = 0;  // steps of linear rise
  zero::Decay decay = zero::Decay::constant;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // of matrices
  double clip = 1.0;          // largest norm of all gradients together; 0: none
  zero::NonFinite non_finite = zero::NonFinite::stop;  // a loss or gradient that is not finite

  // Memory and overlap.
  Bytes bucket{16 << 20};         // of one reduction or gathering message
  int prefetch = 1;               // passes that parameters are gathered ahead
  nn::RecomputePlan recompute{};  // which activations are computed again
  zero::OffloadPlaces offload{};  // files that keep states instead of host memory
  // Lays out memory and communication (TrainResult::plan) by arithmetic: no rank is started, and
  // `ranks` may be any number up to most_planned_ranks.
  bool plan_only = false;
  std::optional<int> plan_rank{};  // whose plan; absent: rank 0's, with the shards of all ranks

  // Evaluation, checkpoints, generated text.
  std::int64_t evaluate_every = 0;    // steps; 0: never. Needs `validation`
  std::int64_t evaluate_batches = 4;  // micro-batches of an evaluation, of each rank
  std::string checkpoint{};           // directory, which is made; empty: no checkpoints are written
  std::int64_t checkpoint_every = 0;  // steps; 0: at the end only
  int keep = 2;                       // committed checkpoints
  bool resume = false;                // goes on from the last committed one, written at any stage
                                      // and number of ranks; without one it starts anew
  int restarts = 0;           // how often ranks that are processes are started again, from the last
                              // checkpoint, when one dies or hangs
  std::string export_file{};  // the trained weights: .safetensors, else as llm.c; empty: none
  std::int64_t generate = 0;  // tokens of text that the trained network writes
  std::string prompt{};       // what that text goes on from

  // What is seen.
  std::string trace{};               // directory for rank_N.json.gz, which is made; empty: none
  TraceSchedule trace_steps{};       // which steps that has
  std::string metrics{};             // OpenMetrics: a port of localhost, or a file; empty: none
  std::string token_file{};          // its first line is asked of clients of `metrics`
  std::string live{};                // directory for a file of steps of each rank, which is made,
                                     // for `stepscope live`; empty: none
  std::vector<TrainFault> faults{};  // that the run is to show
  bool isolate = false;              // measures compute alone, communication alone, and both, after
                                     // training; two ranks or more, all states in memory
  std::optional<FlopRate> peak{};    // of one core, for MFU; absent: measured before the first step
  Ns deadline{60'000'000'000};       // after which a collective fails
  // Files that the caller writes with the result: training does not begin where their directory is
  // missing.
  std::vector<std::string> outputs{};
};

}  // namespace stepscope
