// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// The number in "global_step: 4 |" (lines) or "global_step=4.000," (progress bar).
std::optional<double> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + key.size());
  if (!rest.starts_with('=') && !rest.starts_with(':')) return std::nullopt;
  rest = trimmed(rest.substr(1));
  return clean_number(rest.substr(0, rest.find_first_of(" ,|]")));
}

// "Training epoch 0, iteration 4/999 | global_step: 4 | … | train_step_timing in s: 7.633".
bool take_nemo_record(const LogLine& line, LogState& state) {
  // A truncated line may precede another one.
  const std::size_t time = line.text.find("train_step_timing in s");
  const std::size_t number = line.text.rfind("global_step", time);
  const std::string_view text = line.text.substr(number == std::string_view::npos ? 0 : number);
  const auto seconds = number_after(text, "train_step_timing in s");
  const auto step = number_after(text, "global_step");
  if (!seconds || !step || !(*seconds > 0) || !std::isfinite(*seconds) ||
      !(*step >= 0 && *step < 1e15)) {
    state.note("records_cut");
    return false;
  }
  LogRecord& record = state.add(nemo_log.tool, line);
  record.iteration = static_cast<std::int64_t>(*step);
  record.wall_ns = *seconds * 1e9;
  set_loss(record, number_after(text, "reduced_train_loss"));
  record.batch = number_after(line.text, "global_batch_size");
  count_line(state.log, nemo_log.tool);
  return true;
}

constexpr std::array nemo_words = {LogWord{"train_step_timing in s", take_nemo_record}};

}  // namespace

const LogDialect nemo_log = {
    .tool = {.name = "nemo", .label = "NeMo"}, .words = nemo_words, .how = "train_step_timing"};

}  // namespace stepscope
