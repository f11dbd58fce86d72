// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "[HCTR][07:04:10][INFO][RK0][main]: Iter: 2000 Time(1000 iters): 5.38s Loss: 0.1335 lr:9.003":
// Model::fit in HugeCTR/src/pybind/model.cpp. The time is that of the steps since the line before,
// with an evaluation that was between them.
bool take_hugectr_line(const LogLine& line, LogState& state) {
  const auto step = clean_number_behind(line.text, "Iter: ", " ");
  const auto count = clean_number_behind(line.text, "Time(", " ");
  const auto seconds = clean_number_behind(line.text, " iters): ", "s");
  if (!step || !count || !seconds || !(*step >= 0 && *step < 1e15 && *count >= 1 && *seconds > 0))
    return false;
  LogRecord& record = state.add(hugectr_log.tool, line);
  record.iteration = static_cast<std::int64_t>(*step);
  record.wall_ns = *seconds * 1e9 / *count;
  if (const auto loss = clean_number_behind(line.text, " Loss: ", " ")) set_loss(record, loss);
  count_line(state.log, hugectr_log.tool);
  return true;
}

bool take_hugectr_evaluation(const LogLine& /*line*/, LogState& state) {
  state.evaluated.set();
  return true;
}

constexpr std::array hugectr_words = {LogWord{" iters): ", take_hugectr_line},
                                      LogWord{"Eval Time for ", take_hugectr_evaluation}};

}  // namespace

const LogDialect hugectr_log = {.tool = {.name = "hugectr", .label = "HugeCTR"},
                                .words = hugectr_words,
                                .how = "Time of its steps, the mean since the line before",
                                .means = true};

}  // namespace stepscope
