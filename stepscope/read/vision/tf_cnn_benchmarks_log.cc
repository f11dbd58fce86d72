// SPDX-License-Identifier: Apache-2.0
#include <any>
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

struct GlobalBatch {
  double images = 0;
};

GlobalBatch& global_batch(LogState& state) {
  std::any& kept = state.kept[&tf_cnn_benchmarks_log.tool];
  if (!kept.has_value()) kept = GlobalBatch();
  return *std::any_cast<GlobalBatch>(&kept);
}

// "Batch size:  960 global".
bool take_batch(const LogLine& line, LogState& state) {
  if (!contains(line.text, " global")) return false;
  if (const auto images = clean_number_behind(line.text, "Batch size:", "g"))
    global_batch(state).images = *images;
  return true;
}

// "40\timages/sec: 15270.6 +/- 11.4 (jitter = 42.8)\t7.9" (get_perf_timing in
// scripts/tf_cnn_benchmarks/benchmark_cnn.py of tensorflow/benchmarks): the batch over the mean
// time of all steps so far.
bool take_rate(const LogLine& line, LogState& state) {
  const std::size_t at = line.text.find("images/sec: ");
  const auto step = clean_integer(line.text.substr(0, at));
  const auto rate = clean_number_behind(line.text, "images/sec: ", " ");
  const double batch = global_batch(state).images;
  if (!step || *step < 1 || *step > 1'000'000'000 || !rate || !(*rate > 0) || !(batch > 0))
    return false;
  LogRecord& record = state.add(tf_cnn_benchmarks_log.tool, line);
  record.iteration = *step;
  record.batch = batch;
  record.elapsed_s = static_cast<double>(*step) * batch / *rate;
  count_line(state.log, tf_cnn_benchmarks_log.tool);
  return true;
}

constexpr std::array tf_cnn_benchmarks_words = {LogWord{"images/sec: ", take_rate},
                                                LogWord{"Batch size: ", take_batch}};

LogSteps tf_cnn_benchmarks_steps(const JobLog& log) {
  return place_steps(log, tf_cnn_benchmarks_log, StepsBy::elapsed,
                     "differences of the time that its mean rates give",
                     [](const LogRecord& /*record*/) { return true; });
}

}  // namespace

const LogDialect tf_cnn_benchmarks_log = {
    .tool = {.name = "tf_cnn_benchmarks", .label = "tf_cnn_benchmarks"},
    .words = tf_cnn_benchmarks_words,
    .steps = tf_cnn_benchmarks_steps};

}  // namespace stepscope
