// SPDX-License-Identifier: Apache-2.0
// What a run of training has left: every face shows this and nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/telemetry/zero3_performance_stats.h"
#include "engine/zero/plan/step_plan.h"
#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/say/message.h"

namespace stepscope {

// One step of one rank: the budget and the phases each sum to the wall time, to the nanosecond.
struct TrainRankStep {
  Ns wall{};
  std::array<Ns, budget_category_count> budget{};
  std::array<Ns, phase_count> phases{};
  std::int64_t tokens = 0;
};

struct TrainStep {
  std::int64_t index = 0;
  double loss = 0;  // mean over the tokens of all ranks
  std::optional<double> validation_loss{};
  std::optional<double> gradient_norm{};
  double learning_rate = 0;
  std::int64_t tokens = 0;  // of all ranks
  bool skipped = false;     // a gradient was not finite: nothing was updated
  Ns wall{};                // from the first rank's begin to the last rank's end
  Ns added{};               // the part of it that no earlier step covers
  std::vector<TrainRankStep> ranks{};
};

// One class of memory, of the rank that holds most of it.
struct TrainMemory {
  std::string name;  // "parameters", "activations", ...
  Bytes planned{};
  Bytes padding{};   // part of `planned`: alignment and equal message lengths
  Bytes unused{};    // part of `planned`: places of a pool that are free at its peak
  Bytes measured{};  // highest
};

// All calls of one kind and group size, over all ranks and steps.
struct TrainCollective {
  std::string kind;
  int group = 1;
  std::uint64_t calls = 0;  // of one rank
  Bytes payload{};          // total buffers, of one rank, padding included
  Bytes padding{};          // part of it
  Bytes sent{};             // by one rank, by the kind's formula
  Ns transfer{};            // mean over ranks: from the last arrival to the end
  Ns expected{};            // the transfer by the links measured before step 1; 0: not measured
  Ns wait{};                // mean over ranks: own arrival to the last
  Ns stall{};               // mean over ranks: what the training thread stood still for them
};

struct TrainSetup {
  std::string model;
  std::int64_t parameters = 0;
  int ranks = 1;
  int zero = 0;
  std::string precision;      // "f32", "bf16"
  std::int64_t batch = 0;     // sequences of a micro-batch of one rank
  std::int64_t sequence = 0;  // tokens
  std::int64_t accumulation = 1;
  std::string recompute;  // "none", "full", ...
  std::string transport;  // "threads", "shm", "mpi"
};

// One step's computation alone, its communication alone, and both together, measured after
// training.
//
//   exposed     the main thread of `both` stood still for collectives, waiting for late ranks
//               included
//   hidden      communication - exposed: what overlap hides; negative where they stand still
//               for longer, as when a rank is late or nothing moves between the waits
//   contention both - exposed - compute: the additional time of the computation during the
//   communication, which on a CPU moves bytes on the same cores
// So both = compute + communication - hidden + contention, to the nanosecond.
//
// Overlap efficiency is what is hidden over what could be: the shorter of compute and
// communication. Noise can make the figures impossible: communication speeds no computation up, and
// no more can be hidden than the shorter of both.
struct TrainIsolation {
  // Means over the measured steps.
  struct Rank {
    Ns both{};
    Ns exposed{};
    Ns compute{};
    Ns communication{};
    [[nodiscard]] Ns hidden() const { return communication - exposed; }
    [[nodiscard]] Ns contention() const { return both - exposed - compute; }
    // Shares of one; 0 where nothing is hidden, absent where there is nothing to hide.
    [[nodiscard]] std::optional<double> hidden_share() const;
    [[nodiscard]] std::optional<double> efficiency() const;
    // By more than a hundredth of `both`.
    [[nodiscard]] bool faster_than_alone() const;
    [[nodiscard]] bool hides_more_than_there_is() const;
    [[nodiscard]] bool possible() const {
      return !faster_than_alone() && !hides_more_than_there_is();
    }
  };
  // The shortest and the longest step, of the means over ranks.
  struct Range {
    Ns least{};
    Ns most{};
  };
  int steps = 0;  // measured each way
  std::vector<Rank> ranks{};
  Range both{};
  Range exposed{};
  Range compute{};
  Range communication{};

  // Means over ranks, whole nanoseconds; the derived ones are of these.
  [[nodiscard]] Rank mean() const;
};

// What `analyze` says of the recorded steps: those of --trace-steps where there is a trace, else
// the last of the run.
struct TrainVerdict {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::vector<Culprit> culprits{};  // the verdict, then its alternatives (diagnose/culprit.h)
  Message why_none{};               // why there is no verdict; empty: there is one
};

struct TrainResult {
  // Whether this is the result of the job: false in a process of another rank than 0, and in the
  // one that has started ranks as processes (train.h). Only `interrupted` means something then.
  bool has_results = true;
  bool interrupted = false;          // stopped before its last step
  std::optional<zero::Plan> plan{};  // where only that was asked for; of one rank
  bool plan_of_one_rank = false;  // that rank was asked for, so other ranks' shards are not shown
  std::string version{};          // of stepscope
  TrainSetup setup{};
  std::optional<FlopRate> peak{};  // of one rank's core
  std::string peak_source{};       // "measured: FMA loop"
  Flops model_flops{};             // of one step of all ranks, without recomputation
  Flops executed_flops{};          // with it
  std::vector<TrainStep> steps{};
  std::vector<TrainMemory> memory{};
  std::vector<TrainCollective> collectives{};
  std::optional<TrainIsolation> isolation{};
  TrainVerdict verdict{};
  Messages offload{};                         // of what was kept in files
  std::vector<std::string> checkpoints{};     // directories
  std::optional<PerformanceSummary> stats{};  // against links and drives measured before step 1
  std::string generated{};                    // text: the prompt and what the network made of it
  Messages warnings{};
};

// The steps that means are taken of: all after the first, which warms caches and pages up; all of
// them where there are fewer than three.
[[nodiscard]] std::span<const TrainStep> counted_steps(const TrainResult& result);

// The rates of the counted steps.
struct TrainRates {
  double tokens_per_second = 0;
  double step_ns = 0;  // time that at least one of them covers / their number
  std::optional<double> mfu{};
  std::optional<double> hfu{};
};
[[nodiscard]] TrainRates train_rates(const TrainResult& result);

}  // namespace stepscope
