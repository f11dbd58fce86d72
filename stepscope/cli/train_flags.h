// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope train`, as typed.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope {

struct TrainFlags {
  // the model and what it reads
  std::string preset = "gpt2-tiny";
  std::vector<std::string> data;
  std::string data_format;  // empty: by the file's first bytes
  double validation = 0;    // share of the samples
  std::optional<double> dropout;
  std::string init_from;  // safetensors or llm.c
  std::uint64_t seed = 1337;
  // the job
  int ranks = 0;          // 0: the cores that this process may use, or what a launcher started
  std::string transport;  // empty: mpi where a launcher has started this, else shm
  int zero = 3;
  std::string precision = "f32";
  std::int64_t batch = 8;
  std::int64_t sequence = 0;  // 0: the model's context, at most 128
  std::int64_t accumulation = 1;
  std::string accumulation_policy = "reduce_each_microstep";
  std::int64_t steps = 50;
  // the optimizer
  double learning_rate = 3e-4;
  double minimum_rate = 0;
  std::int64_t warmup = 0;
  std::string schedule = "constant";
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double clip = 1.0;  // 0: none
  std::string on_nan = "stop";
  // memory and overlap
  std::string bucket = "16MiB";
  int prefetch = 1;
  std::string recompute = "none";
  std::vector<std::string> offload;  // PARTS:DIR
  // evaluation, checkpoints, generated text
  std::int64_t evaluate_every = 0;
  std::int64_t evaluate_batches = 4;
  std::string checkpoint;
  std::int64_t checkpoint_every = 0;  // 0: at the end only
  int keep = 2;
  bool resume = false;
  int restarts = 0;
  bool restarted = false;  // by the supervisor: who was killed on purpose is not again
  std::string export_file;
  std::int64_t generate = 0;  // tokens
  std::string prompt;
  // what is seen
  std::string trace;
  std::string trace_steps;
  std::string metrics;
  std::vector<std::string> inject;
  bool isolate = false;
  double peak_tflops = 0;  // 0: measured
  double deadline = 60;    // seconds, of a collective
  bool plan_only = false;
  std::string json;
  std::string csv;
  bool quiet = false;
};

void declare(CLI::App& app, TrainFlags& flags);

// --trace-steps wait,warmup,active,repeat, as torch.profiler.schedule counts: `wait` steps off,
// `warmup` steps recorded and thrown away, `active` recorded; `repeat` times (0: until the end).
struct TraceSchedule {
  std::int64_t wait = 0;
  std::int64_t warmup = 0;
  std::int64_t active = 0;
  std::int64_t repeat = 1;

  [[nodiscard]] bool records(std::int64_t step) const;  // step counts from 0
};
// Empty text: two steps off, one of warm-up, then five, once.
[[nodiscard]] Result<TraceSchedule> parse_trace_schedule(std::string_view text);

// --inject: a fault that a run is to show.
enum class FaultKind : std::uint8_t {
  slow,      // rank R computes P % longer
  sleep,     // rank R sleeps a time before each step
  throttle,  // every link gets a latency and a rate
  data,      // rank R's loader sleeps a time for each batch
  sync,      // rank R waits for each message where it submits it
  kill,      // rank R gets SIGKILL
  stop,      // rank R gets SIGSTOP
};
// Where a rank is killed or stopped.
enum class FaultPhase : std::uint8_t {
  start,       // before it has made its engine
  data,        // before it reads a batch
  forward,     // a layer's forward pass begins
  backward,    // likewise
  exchange,    // the first gradients of the step have been exchanged, others are under way
  optimizer,   // gradients are agreed upon, the update begins
  checkpoint,  // the step begins: the checkpoint before it is being written
};
inline constexpr std::array<std::string_view, 7> fault_phase_names = {
    "start", "data", "forward", "backward", "exchange", "optimizer", "checkpoint"};
struct Fault {
  FaultKind kind = FaultKind::slow;
  FaultPhase phase = FaultPhase::start;  // kill, stop
  int rank = -1;                         // -1: all
  double percent = 0;                    // slow
  Ns time{};                             // sleep, data; latency of a throttled link
  ByteRate rate{};                       // of a throttled link
  std::int64_t from = 0;                 // first step, counted from 0
  std::int64_t until = -1;               // one past the last; -1: to the end
};
// "slow:1:30%", "sleep:0:5ms", "data:1:20ms", "throttle:50us:1GB", "sync" (all ranks), "sync:1",
// each with "@from-until" behind it where it is not for all steps; "kill:1:backward@5",
// "stop:0:optimizer@2", once.
[[nodiscard]] Result<Fault> parse_fault(std::string_view text);

}  // namespace stepscope
