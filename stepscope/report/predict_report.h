// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope predict`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/pipeline/predict.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct PredictTextOptions {
  TextOptions text{};
  bool layers = false;
};

// "A step takes 12.3 s: 41.2 % MFU …, most of it matrix products (52 %)."
[[nodiscard]] std::string predict_sentence(const PredictResult& result);
[[nodiscard]] std::string predict_text(const PredictResult& result,
                                       const PredictTextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json predict_tree(const PredictResult& result);
// The parts of a memory by name, and their total.
[[nodiscard]] Json memory_tree(const Memory& memory);
// What is taken for granted, and which plan would fit where this one does not.
[[nodiscard]] std::vector<std::string> predict_warnings(const PredictResult& result);
// terms, memory, layers, and comparison where there is one.
[[nodiscard]] std::vector<CsvFile> predict_csv(const PredictResult& result);

// For people, where the enumeration's name is for programs.
[[nodiscard]] std::string_view words_of(StepTerm term);
[[nodiscard]] std::string_view words_of(MemoryTerm term);
// "each device lacks 3.2 GB and 12 GB of host memory"; empty where it fits.
[[nodiscard]] std::string words_of(const Shortage& lacks);
// "TP 8 · PP 16 (1F1B) · DP 8, ZeRO-1 · 12 micro-batches of 1 × 2048".
[[nodiscard]] std::string plan_in_words(const Plan& plan);

}  // namespace stepscope
