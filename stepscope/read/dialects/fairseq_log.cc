// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "… | INFO | train_inner | epoch 001:    100 / 487 loss=4.655, …, wps=35120, ups=1.02, …,
// num_updates=100, …, train_wall=97, wall=103", and as JSON (SimpleProgressBar and JsonProgressBar
// in fairseq/logging/progress_bar.py; ups counts updates per second since the last such line).
constexpr std::array<LogField, 5> fairseq_fields = {{
    {" ups=", &LogRecord::wall_ns, per_second},
    {" wall=", &LogRecord::elapsed_s},
    {" loss=", &LogRecord::loss},
    {" wps=", &LogRecord::tokens_per_s},
    {" wpb=", &LogRecord::step_tokens},
}};
constexpr std::array<LogField, 5> fairseq_json_fields = {{
    {"\"ups\": \"", &LogRecord::wall_ns, per_second},
    {"\"wall\": \"", &LogRecord::elapsed_s},
    {"\"loss\": \"", &LogRecord::loss},
    {"\"wps\": \"", &LogRecord::tokens_per_s},
    {"\"wpb\": \"", &LogRecord::step_tokens},
}};
constexpr std::array fairseq_patterns = {LogPattern{.word = ", ups=",
                                                    .step = "num_updates=",
                                                    .fields = fairseq_fields,
                                                    .ends = " ,",
                                                    .step_in_line = true,
                                                    .stamped = true},
                                         LogPattern{.word = "\"ups\": \"",
                                                    .step = "\"num_updates\": \"",
                                                    .fields = fairseq_json_fields,
                                                    .ends = "\"",
                                                    .step_in_line = true,
                                                    .stamped = true}};

// "| epoch 010  2000 / 8223 loss=1.27 (1.50), wps=962, wpb=908, …": versions before 0.6 wrote no
// ups. Words of a batch over words a second, both means of the epoch so far.
bool take_old_fairseq(const LogLine& line, LogState& state) {
  const std::string_view text = line.text;
  const std::size_t epoch = text.find("epoch ");
  const std::size_t of = text.find(" / ");
  const auto rate = clean_number_behind(text, "wps=");
  const auto words = clean_number_behind(text, "wpb=");
  if (contains(text, "ups=") || epoch == std::string_view::npos || of == std::string_view::npos ||
      of < epoch || !rate || !words || !(*rate > 0) || !(*words > 0))
    return false;
  const std::string_view before = trimmed(text.substr(0, of));
  LogRecord& record = state.add(fairseq_log.tool, line);
  record.iteration = clean_integer(before.substr(before.find_last_of(" :") + 1)).value_or(-1);
  record.epoch = epoch_of_line(text);
  record.wall_ns = *words / *rate * 1e9;
  record.tokens_per_s = *rate;
  set_loss(record, clean_number_behind(text, "loss="));
  count_line(state.log, fairseq_log.tool);
  return true;
}
constexpr std::array fairseq_words = {LogWord{", wps=", take_old_fairseq}};

// The time of all steps.
double sum_of(const LogSteps& steps) {
  double sum = 0;
  for (const LogStep& step : steps.steps) sum += step.wall_ns * static_cast<double>(step.steps);
  return sum;
}

// `ups` has few digits, old versions average it over the epoch, and on TPUs it counts lines. `wall`
// has whole seconds. It counts where that is exact enough, or where `ups` contradicts it.
LogSteps fairseq_steps(const JobLog& log) {
  const auto any = [](const LogRecord& /*record*/) { return true; };
  constexpr double exact = 20e9;  // between two lines: 5 % of error at most
  constexpr double contradiction = 1.2;
  LogSteps by_wall = place_steps(log, fairseq_log, StepsBy::elapsed, "differences of wall", any);
  // Only lines of the old versions count anew in each epoch.
  const bool old = std::ranges::any_of(
      log.records, [](const LogRecord& r) { return r.tool == &fairseq_log.tool && r.epoch >= 0; });
  LogSteps by_ups =
      place_steps(log, fairseq_log, StepsBy::lines,
                  old ? "wpb / wps, the mean since the begin of its epoch" : "1 / ups", any);
  if (by_wall.steps.empty()) return by_ups;
  const double lines = static_cast<double>(by_wall.steps.size());
  const double wall = sum_of(by_wall);
  // The first line has no wall of a line before.
  const double ups = sum_of(by_ups) * lines / static_cast<double>(by_ups.steps.size());
  const bool agree = ups < contradiction * wall && wall < contradiction * ups;
  return by_ups.steps.empty() || wall >= exact * lines || (!agree && wall >= exact) ? by_wall
                                                                                    : by_ups;
}

}  // namespace

const LogDialect fairseq_log = {.tool = {.name = "fairseq", .label = "fairseq"},
                                .words = fairseq_words,
                                .patterns = fairseq_patterns,
                                .means = true,
                                .steps = fairseq_steps};

}  // namespace stepscope
