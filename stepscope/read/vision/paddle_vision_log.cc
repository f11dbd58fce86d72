// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

constexpr std::string_view number_ends = " ,s|]/";

// The number of the step: of the job in PaddleOCR, else of its epoch.
std::optional<double> number_of_line(std::string_view text) {
  constexpr std::array<std::string_view, 6> names = {
      "global_step: ", "iter: ", "Iter: ", "iter=", "train step:", "] ["};
  for (const std::string_view name : names)
    if (const auto number = clean_number_behind(text, name, number_ends)) return number;
  return std::nullopt;
}

// Lines of PaddleOCR: "epoch: [1/2], global_step: 100, lr: 0.1, loss: 6.93, avg_reader_cost: 0.010
// s, avg_batch_cost: 0.180 s, avg_samples: 64.0, ips: 355.1 samples/s, eta: 0:32:33".
// PaddleDetection: "Epoch: [0] [ 20/125] learning_rate: 0.1 loss: 12.3 eta: 1:02:03 batch_cost:
// 0.78 data_cost: 0.01 ips: 2.5 images/s". PaddleClas: "[Train][Epoch 1/120][Iter: 10/5004]lr: 0.1,
// loss: 7.0, batch_cost: 2.13s, reader_cost: 1.7, ips: 120.1 images/sec". PaddleSeg: "[TRAIN]
// epoch: 1, iter: 10/1000, loss: 2.1, lr: 0.1, batch_cost: 0.2, reader_cost: 0.01, ips: 20.0
// samples/sec". PaddleVideo: "epoch:[  1/80 ] train step:20 loss: 5.9 batch_cost: 0.6 sec,
// reader_cost: 0.1 sec, ips: 26.7 instance/sec". The costs are means since the line before, in
// seconds; that of the batch holds that of the reader.
bool take_paddle_vision_line(const LogLine& line, LogState& state) {
  for (const std::string_view evaluation : {"[Eval]", "[EVAL]", " val step:"})
    if (contains(line.text, evaluation)) {
      state.evaluated.set();
      return false;
    }
  const auto at = [&](std::string_view key) {
    return clean_number_behind(line.text, key, number_ends);
  };
  const auto step = number_of_line(line.text);
  const auto seconds = at("batch_cost: ");
  const bool whole = step && *step >= 0 && *step < 1e15 && *step == std::floor(*step);
  if (!whole || !seconds || !(*seconds > 0)) return false;
  LogRecord& record = state.add(paddle_vision_log.tool, line);
  record.iteration = static_cast<std::int64_t>(*step);
  record.epoch = epoch_of_line(line.text);
  record.wall_ns = *seconds * 1e9;
  record.samples_per_s = at("ips: ");
  if (const auto loss = at(" loss: ")) set_loss(record, loss);
  for (const std::string_view wait : {"reader_cost", "data_cost", "reader_time"})
    if (const auto s = at(std::string(wait) + ": "))
      state.time(paddle_vision_log.tool, wait, *s * 1e3);
  count_line(state.log, paddle_vision_log.tool);
  return true;
}

constexpr std::array paddle_vision_words = {LogWord{"batch_cost: ", take_paddle_vision_line}};

}  // namespace

const LogDialect paddle_vision_log = {
    .tool = {.name = "paddle_vision", .label = "Paddle's vision tools"},
    .words = paddle_vision_words,
    .how = "batch_cost, the mean since the line before",
    .means = true};

}  // namespace stepscope
