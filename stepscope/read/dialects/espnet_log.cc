// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "1epoch:train:1-682batch: iter_time=2.878e-04, forward_time=0.134, loss=123.9, …,
// backward_time=0.111, optim_step_time=0.030, …, train_time=1.816" (log_message in
// espnet2/train/reporter.py). train_time is that of an update of the weights, which may take
// several batches; the others are of a batch (train_one_epoch in espnet2/train/trainer.py).
// iter_time is the wait for data. Batches count from 1 in each epoch, and updates are not counted.
bool take_espnet_line(const LogLine& line, LogState& state) {
  constexpr std::string_view ends = " ,";
  const auto seconds = clean_number_behind(line.text, " train_time=", ends);
  if (!seconds || !(*seconds > 0)) {
    state.note("records_cut");
    return false;
  }
  LogRecord& record = state.add(espnet_log.tool, line);
  record.wall_ns = *seconds * 1e9;
  if (const auto loss = clean_number_behind(line.text, " loss=", ends)) set_loss(record, loss);
  constexpr std::array<std::string_view, 4> timers = {"iter_time", "forward_time", "backward_time",
                                                      "optim_step_time"};
  for (const std::string_view name : timers)
    if (const auto s = clean_number_behind(line.text, ' ' + std::string(name) + '=', ends))
      state.time(espnet_log.tool, name, *s * 1e3);
  count_line(state.log, espnet_log.tool);
  return true;
}

constexpr std::array espnet_words = {LogWord{"epoch:train:", take_espnet_line}};

}  // namespace

const LogDialect espnet_log = {.tool = {.name = "espnet", .label = "ESPnet"},
                               .words = espnet_words,
                               .how = "train_time, the mean since the line before"};

}  // namespace stepscope
