// SPDX-License-Identifier: Apache-2.0
// What `stepscope train` has to say of its run, before it takes a form: every face shows this and
// nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/json_values.h"
#include "stepscope/report/terminal/text_options.h"
#include "stepscope/report/train_isolation.h"

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
  std::vector<TrainRankStep> ranks{};
};

// One class of memory, of the rank that holds most of it.
struct TrainMemory {
  std::string name;  // "parameters", "activations", ...
  Bytes planned{};
  Bytes measured{};  // highest
};

// All calls of one kind and group size, over all ranks and steps.
struct TrainCollective {
  std::string kind;
  int group = 1;
  std::uint64_t calls = 0;  // of one rank
  Bytes payload{};          // total buffers, of one rank
  Bytes sent{};             // by one rank, by the kind's formula
  Ns transfer{};            // mean over ranks: from the last arrival to the end
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

struct TrainReport {
  std::string version;
  TrainSetup setup;
  std::optional<FlopRate> peak{};  // of one rank's core
  std::string peak_source{};       // "measured: FMA loop"
  Flops model_flops{};             // of one step of all ranks, without recomputation
  Flops executed_flops{};          // with it
  std::vector<TrainStep> steps{};
  std::vector<TrainMemory> memory{};
  std::vector<TrainCollective> collectives{};
  std::optional<TrainIsolation> isolation{};
  std::vector<std::string> stragglers{};   // sentences
  std::vector<std::string> offload{};      // likewise, of what was kept in files
  std::vector<std::string> checkpoints{};  // directories
  Json stats = nullptr;                    // telemetry's own export
  std::vector<std::string> warnings{};
};

// Rates are of the steps after the first, which warms caches and pages up; of all where there are
// fewer than three.
struct TrainRates {
  double tokens_per_second = 0;
  double step_ns = 0;  // mean
  std::optional<double> mfu{};
  std::optional<double> hfu{};
};
[[nodiscard]] TrainRates train_rates(const TrainReport& report);

// "A step takes 81.2 ms: 12.6 k tokens/s, 61.3 % MFU; loss 5.54 → 2.31 in 40 steps."
[[nodiscard]] std::string train_sentence(const TrainReport& report);
[[nodiscard]] std::string train_text(const TrainReport& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json train_tree(const TrainReport& report);
// steps, rank_steps, memory, collectives.
[[nodiscard]] std::vector<CsvFile> train_csv(const TrainReport& report);

}  // namespace stepscope
