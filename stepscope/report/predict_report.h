// SPDX-License-Identifier: Apache-2.0
// What `stepscope predict` has to say, before it takes a form: every face shows this and nothing
// else. Refers to what the caller owns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/cost/explain/operation_rows.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/cost/step/step_cost.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

// One plan of --compare.
struct ComparedPlan {
  std::string label;  // "zero=1 recompute=full"
  Plan plan;
  std::optional<StepCost> cost;  // absent: it cannot run
  std::string why_not{};
  double communicated_bytes = 0;  // by one device in a step, within layers: whole buffers
  double data_bytes = 0;          // sent by one device in a step to data-parallel ranks
};

struct PredictReport {
  std::string version;
  const Transformer* model = nullptr;
  const Machine* machine = nullptr;
  Plan plan;
  ParameterCount parameters;
  StepCost cost;
  std::array<double, flops_convention_count> step_flops{};
  double hfu = 0;
  double peak = 0;         // of one device, in the plan's format
  double memory_rate = 0;  // bytes a second
  std::vector<OperationRow> operations;
  std::array<std::string, step_term_count> formulas{};
  std::array<std::string, memory_term_count> memory_formulas{};
  std::vector<ComparedPlan> comparison{};
  std::optional<double> price_per_gpu_hour{};
  std::vector<std::string> warnings{};
};

struct PredictTextOptions {
  TextOptions text{};
  bool layers = false;
};

// "A step takes 12.3 s: 41.2 % MFU …, most of it matrix products (52 %)."
[[nodiscard]] std::string predict_sentence(const PredictReport& report);
[[nodiscard]] std::string predict_text(const PredictReport& report,
                                       const PredictTextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json predict_tree(const PredictReport& report);
// The parts of a memory by name, and their total.
[[nodiscard]] Json memory_tree(const Memory& memory);
// terms, memory, layers, and comparison where there is one.
[[nodiscard]] std::vector<CsvFile> predict_csv(const PredictReport& report);

// For people, where the enumeration's name is for programs.
[[nodiscard]] std::string_view words_of(StepTerm term);
[[nodiscard]] std::string_view words_of(MemoryTerm term);
// "each device lacks 3.2 GB and 12 GB of host memory"; empty where it fits.
[[nodiscard]] std::string words_of(const Shortage& lacks);
// "TP 8 · PP 16 (1F1B) · DP 8, ZeRO-1 · 12 micro-batches of 1 × 2048".
[[nodiscard]] std::string plan_in_words(const Plan& plan);

}  // namespace stepscope
