// SPDX-License-Identifier: Apache-2.0
// What people and programs see of compared runs and of a sweep: sentences, the public JSON
// (docs/reference/json/compare.md) with its tables, the terminal's text.
#pragma once

#include <string>
#include <vector>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/compare/compare.h"
#include "stepscope/verbs/compare/sweep.h"

namespace stepscope {

// The verdict in one sentence, with its size and interval or with what is missing.
[[nodiscard]] Message compare_sentence(const Comparison& report);
// "p = 0.012".
[[nodiscard]] Message p_in_words(double p);

// The fastest value, and which tie with it.
[[nodiscard]] Message sweep_sentence(const SweepResult& report);
// Values that tie with the fastest.
[[nodiscard]] std::vector<std::string> ties_of(const Sweep& sweep);

[[nodiscard]] Json compare_tree(const Comparison& report);
[[nodiscard]] Json sweep_tree(const SweepResult& report);
// The steps of one arm, which other verbs show too.
[[nodiscard]] Json arm_tree(const std::string& label, const ComparedArm& arm);

// launches, parts.
[[nodiscard]] std::vector<TreeTable> compare_tables(const Json& tree);

// values.
[[nodiscard]] std::vector<TreeTable> sweep_tables(const Json& tree);

[[nodiscard]] std::string compare_text(const Comparison& report, const TextOptions& options = {});
[[nodiscard]] std::string sweep_text(const SweepResult& report, const TextOptions& options = {});
// "Outliers in A, kept: 3 …"; empty without any.
[[nodiscard]] std::string outlier_text(const std::string& label, const ComparedArm& arm);

}  // namespace stepscope
