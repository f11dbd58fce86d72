// SPDX-License-Identifier: Apache-2.0
#include <any>
#include <array>
#include <cmath>
#include <map>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

using PaddleSteps = std::map<std::int32_t, std::int64_t>;  // the last global_step by rank

// How many steps an interval has. Older versions print its rate with three decimals, which is
// enough for a short one. `since`: the steps since the line before.
std::optional<double> steps_of_interval(double seconds, std::optional<double> rate,
                                        std::int64_t since) {
  constexpr double half_digit = 0.0005;
  const double steps = rate && *rate > 0 ? *rate * seconds : 0;
  const bool exact = seconds * half_digit < 0.4 && std::fabs(steps - std::round(steps)) < 0.45;
  if (exact && steps >= 0.5) return std::round(steps);
  if (since > 0) return static_cast<double>(since);
  return steps > 0 ? std::optional(steps) : std::nullopt;
}

// "[    INFO] - loss: 1.94, learning_rate: 4.1e-06, global_step: 40, interval_runtime: 18.79, …,
// interval_steps_per_second: 1.064, epoch: 0.0028" (paddlenlp/trainer/trainer.py,
// _maybe_log_save_evaluate; speed_metrics in trainer_utils.py). interval_samples_per_second is
// left out: older versions divide the samples of one step by the time of all.
bool take_paddle_line(const LogLine& line, LogState& state) {
  constexpr std::string_view ends = " ,}";
  const auto at = [&](std::string_view key) { return clean_number_behind(line.text, key, ends); };
  const auto step = at("global_step: ");
  const auto seconds = at("interval_runtime: ");
  const auto rate = at("interval_steps_per_second: ");
  const bool whole = step && *step >= 0 && *step < 1e15 && *step == std::floor(*step);
  if (!whole || !seconds || !(*seconds > 0)) {
    state.note("records_cut");
    return false;
  }
  std::any& kept = state.kept[&paddle_nlp_log.tool];
  if (!kept.has_value()) kept = PaddleSteps();
  auto& steps = std::any_cast<PaddleSteps&>(kept);
  const auto number = static_cast<std::int64_t>(*step);
  const auto before = steps.find(line.rank);
  const auto count =
      steps_of_interval(*seconds, rate, before == steps.end() ? 0 : number - before->second);
  steps[line.rank] = number;
  LogRecord& record = state.add(paddle_nlp_log.tool, line);
  record.iteration = number;
  if (count) record.wall_ns = *seconds / *count * 1e9;
  if (const auto loss = at(" loss: ")) set_loss(record, loss);
  record.tokens_per_s_device = at("interval_tokens_per_second_per_device: ");
  count_line(state.log, paddle_nlp_log.tool);
  return true;
}

bool take_paddle_evaluation(const LogLine& /*line*/, LogState& state) {
  state.evaluated.set();
  return true;
}

constexpr std::array paddle_nlp_words = {
    LogWord{"interval_runtime: ", take_paddle_line},
    LogWord{"***** Running Evaluation *****", take_paddle_evaluation}};

}  // namespace

const LogDialect paddle_nlp_log = {.tool = {.name = "paddle_nlp", .label = "PaddleNLP"},
                                   .words = paddle_nlp_words,
                                   .how = "interval_runtime over its steps",
                                   .means = true};

}  // namespace stepscope
