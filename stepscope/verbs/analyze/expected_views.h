// SPDX-License-Identifier: Apache-2.0
// Expected times with the measured ones: sentences, JSON, text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/fit/expectation.h"
#include "stepscope/say/message.h"

namespace stepscope {

[[nodiscard]] std::string_view words_of(StepClass c);

// The largest excess of each comparison in one sentence; those without an answer are left out.
[[nodiscard]] Messages expected_sentences(const Analysis& report);
// The sentence of one comparison; empty if nothing in it is worth a sentence.
[[nodiscard]] Message expected_step_sentence(const StepComparison& step);
[[nodiscard]] Message expected_operators_sentence(const Analysis& report,
                                                  const ExpectedOperators& operators);
[[nodiscard]] Message expected_collectives_sentence(const std::vector<ExpectedCollective>& rows,
                                                    std::string_view machine);

// A class of a step, or all pointwise ones together.
struct ExpectedLine {
  std::string name;
  double expected = 0;
  double measured = 0;
  double again = 0;    // of expected: recomputed
  bool inner = false;  // one of the pointwise classes

  [[nodiscard]] double gap() const { return measured - expected; }
  [[nodiscard]] std::optional<double> ratio() const {
    return expected > 0 ? std::optional(measured / expected) : std::nullopt;
  }
};
// All pointwise classes as one.
[[nodiscard]] ExpectedLine pointwise_line(const StepComparison& step);
// Largest gap first.
[[nodiscard]] std::vector<ExpectedLine> outer_lines(const StepComparison& step);

// "1.67 ×".
[[nodiscard]] std::string times_in_words(double ratio);
// The ratio says nothing if next to nothing was expected.
inline constexpr double largest_expected_ratio = 1000;
// The rank whose operators these are.
[[nodiscard]] const RankResult& rank_of(const Analysis& report, const ExpectedOperators& operators);

// Null where nothing is expected.
[[nodiscard]] Json expected_json(const Analysis& report);

// The step by the model.
[[nodiscard]] std::string expected_step_text(const Analysis& report, std::size_t width);
// Operators and collectives by their shapes.
[[nodiscard]] std::string expected_shapes_text(const Analysis& report, std::size_t width);

}  // namespace stepscope
