// SPDX-License-Identifier: Apache-2.0
// MLPerf's logging: lines of ":::MLLOG {json}" with an instant, a key, a value and metadata. Only
// some submitters report single steps; of others the steps are those between the beginning and the
// end of a block of training, without the evaluations.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

constexpr std::string_view mllog = ":::MLLOG ";

// What the lines opened and did not close yet. Instants in ms since 1970.
struct MlperfState {
  std::optional<double> init{};
  std::optional<double> run{};
  std::optional<double> evaluation{};
  std::optional<double> block{};          // since when only training steps ran
  std::optional<double> block_samples{};  // trained on when it began
  std::optional<double> block_length{};   // samples that it is to have
  std::optional<double> samples_per_s{};  // of the block
  double last_epoch = 0;                  // of the block, as its begin says
  std::optional<double> seen{};           // samples trained on, as an accuracy in the block says
  std::optional<double> loss{};           // of the block
  std::optional<double> step{};           // number of the last line of a single step
  bool steps = false;                     // the block has lines of single steps
  std::optional<double> untold_s{};  // of the last block, if it ended without a number of steps
  double told = 0;                   // steps whose number their rate gives
  bool numbered = false;             // other lines number the steps
};

MlperfState& mlperf_state(LogState& state) {
  std::any& kept = state.kept[&mlperf_log.tool];
  if (!kept.has_value()) kept = MlperfState{};
  return *std::any_cast<MlperfState>(&kept);
}

// One line's event.
struct MlperfEvent {
  std::string_view key;
  double ms = 0;
  const JsonValue* value = nullptr;
  const JsonValue* metadata = nullptr;  // null: none

  [[nodiscard]] std::optional<double> meta(std::string_view name) const {
    return metadata == nullptr ? std::nullopt : json_number(*metadata, name);
  }
};

std::optional<double> setting_number(const JobLog& log, std::string_view name) {
  const auto found = log.settings.find(name);
  return found == log.settings.end() ? std::nullopt : clean_number(found->second);
}

// The sequences of a step.
std::optional<double> batch_of(const JobLog& log) {
  const auto batch = setting_number(log, "global_batch_size");
  return batch && *batch >= 1 ? batch : std::nullopt;
}

// A count of epochs in samples. Some submitters write samples where the key says epochs, and
// batches where it says samples: fewer than a hundred steps an epoch are not believed.
std::optional<double> samples_of_epochs(const JobLog& log, std::optional<double> epochs) {
  constexpr double fewest_steps = 100;
  const auto batch = batch_of(log);
  if (!epochs || !batch || *epochs < 0) return std::nullopt;
  const auto samples = setting_number(log, "train_samples");
  // Where the samples are those of the whole training, an epoch is a step.
  const auto all_steps = setting_number(log, "opt_learning_rate_training_steps");
  if (samples && all_steps && std::fabs(*samples - *all_steps * *batch) < *batch)
    return *epochs * *batch;
  if (*epochs >= *batch && *epochs == std::floor(*epochs)) return epochs;
  if (!samples || *samples < fewest_steps * *batch) return std::nullopt;
  return *epochs * *samples;
}

// The samples trained on before the event. If the event has a number of steps, its samples may be
// those of the block.
std::optional<double> samples_of(const JobLog& log, const MlperfEvent& e) {
  const auto batch = batch_of(log);
  const auto step = e.meta("step");
  const auto samples = e.meta("samples_count");
  if (samples && step && batch && e.key != "tracked_stats") return *step * *batch;
  if (samples) return samples;
  return samples_of_epochs(log, e.meta("epoch_num"));
}

LogRun& run_of(LogState& state) {
  if (!state.log.run) state.log.run = LogRun{.tool = &mlperf_log.tool};
  return *state.log.run;
}

void begin_block(const MlperfEvent& e, LogState& state) {
  MlperfState& m = mlperf_state(state);
  const auto samples = samples_of(state.log, e);
  if (samples && *samples >= m.block_samples.value_or(0)) m.block_samples = samples;
  m.block = e.ms;
  m.block_length = samples_of_epochs(state.log, e.meta("epoch_count"));
  m.last_epoch = e.meta("first_epoch_num").value_or(0) + e.meta("epoch_count").value_or(0);
  m.samples_per_s.reset();
  m.seen.reset();
  m.loss.reset();
  m.steps = false;
}

// An epoch holds blocks; of a job without blocks it is one. Epochs count from 0 or from 1.
void begin_epoch(const MlperfEvent& e, LogState& state) {
  MlperfState& m = mlperf_state(state);
  if (!m.block || !m.block_samples || *m.block_samples > 0) m.block = e.ms;
  m.block_length = samples_of_epochs(state.log, 1);
}

// The samples of a block whose lines count epochs of `length` samples. Some submitters name another
// number of samples than an epoch has: a printed rate that is far from it counts more.
double trained_in(double seconds, double length, const MlperfState& m) {
  constexpr double far = 1.5;
  const double by_rate = m.samples_per_s.value_or(0) * seconds;
  const double ratio = by_rate > 0 ? by_rate / length : 1;
  return ratio > far || ratio < 1 / far ? by_rate : length;
}

// The steps of the block that ended, now that the samples before its end are known. `counted`: as
// samples, not as epochs.
void add_block(double samples, bool counted, const LogLine& line, LogState& state) {
  MlperfState& m = mlperf_state(state);
  const auto batch = batch_of(state.log);
  const double begin = m.block_samples.value_or(0);
  const double seconds = m.untold_s.value_or(0);
  if (samples <= begin || !batch || seconds <= 0) return;
  m.untold_s.reset();
  const double steps = (samples - begin) / *batch;
  m.block_samples = samples;
  m.numbered = true;
  if (m.steps || steps < 0.5) return;
  LogRecord& record = state.add(mlperf_log.tool, line);
  record.of_block = true;
  record.iteration = static_cast<std::int64_t>(std::llround(std::min(samples / *batch, 1e15)));
  record.wall_ns = seconds * 1e9 / steps;
  record.batch = *batch;
  record.samples_per_s = m.samples_per_s;
  if (!m.samples_per_s && counted) record.samples_per_s = *batch * steps / seconds;
  if (m.loss) set_loss(record, m.loss);
}

// Ends the block of training that is open, and reports its steps if it had no lines of single
// steps.
void end_block(const MlperfEvent& e, const LogLine& line, LogState& state) {
  MlperfState& m = mlperf_state(state);
  if (!m.block) return;
  const double begin = m.block_samples.value_or(0);
  auto samples = samples_of(state.log, e);
  if (!samples) samples = m.seen;
  const double seconds = (e.ms - *m.block) / 1e3;
  const bool counted = e.meta("samples_count") || m.seen;
  if (!counted) {
    const auto length =
        samples && *samples > begin ? std::optional(*samples - begin) : m.block_length;
    if (length) samples = begin + trained_in(seconds, *length, m);
  }
  m.block.reset();
  m.untold_s = seconds;
  if (samples) add_block(*samples, counted, line, state);
}

// The step that a line of a single step is of: samples over the batch where the line gives samples,
// by their name or as a number that grows by the batch from line to line.
std::int64_t iteration_of(const MlperfEvent& e, double step, LogState& state) {
  const auto batch = batch_of(state.log);
  const auto samples = e.meta("samples_count");
  const MlperfState& m = mlperf_state(state);
  double place = step;
  if (batch && samples)
    place = *samples / *batch;
  else if (batch && std::fmod(step, *batch) == 0 && step > 0 &&
           (!m.step || step - *m.step == *batch))
    place = step / *batch;
  return static_cast<std::int64_t>(std::llround(std::clamp(place, 0.0, 1e15)));
}

// The loss of the steps since the one before; with samples it divides the block.
void take_loss(const MlperfEvent& e, std::optional<double> loss, const LogLine& line,
               LogState& state) {
  MlperfState& m = mlperf_state(state);
  if (loss) m.loss = loss;
  const auto samples = e.meta("samples_count");
  if (!m.block || !samples || *samples <= m.block_samples.value_or(0)) return;
  end_block(e, line, state);
  m.block = e.ms;
  m.block_length.reset();
}

// "value": {"train_step_time": 13.1, "reduced_train_loss": 5.6} of one step, {"throughput": 24.6}
// of a block in samples a second, {"train_loss": 1.9} of the steps since the line before.
void take_stats(const MlperfEvent& e, const LogLine& line, LogState& state) {
  MlperfState& m = mlperf_state(state);
  if (e.value == nullptr || e.value->kind != JsonValue::Kind::object) return;
  const auto batch = batch_of(state.log);
  if (const auto rate = json_number(*e.value, "throughput"); rate && *rate > 0) {
    m.samples_per_s = rate;
    if (!m.untold_s || !batch) return;  // a step time on this line is the block's mean
    m.told += std::round(std::clamp(*m.untold_s * *rate / *batch, 1.0, 1e9));
    m.untold_s.reset();
    LogRecord& record = state.add(mlperf_log.tool, line);
    record.of_block = true;
    if (!m.numbered) record.iteration = static_cast<std::int64_t>(m.told);
    record.wall_ns = *batch / *rate * 1e9;
    record.batch = *batch;
    record.samples_per_s = *rate;
    return;
  }
  if (const auto loss = json_number(*e.value, "train_loss")) return take_loss(e, loss, line, state);
  const auto loss = json_number(*e.value, "reduced_train_loss");
  if (loss) m.loss = loss;
  const auto seconds = json_number(*e.value, "train_step_time");
  const auto step = e.meta("step");
  if (!seconds || !step || !(*seconds > 0)) return;  // without a step: of a block
  LogRecord& record = state.add(mlperf_log.tool, line);
  record.iteration = iteration_of(e, *step, state);
  record.wall_ns = *seconds * 1e9;
  if (batch) record.batch = *batch;
  set_loss(record, loss);
  m.step = step;
  m.steps = m.numbered = true;
}

// An accuracy in a block or behind it may give the samples until then where it names an epoch: the
// number grows by several batches.
void take_seen(std::optional<double> samples, const LogLine& line, LogState& state) {
  constexpr double fewest_steps = 10;
  MlperfState& m = mlperf_state(state);
  const auto batch = batch_of(state.log);
  if (!samples || !batch || *samples < m.block_samples.value_or(0) + fewest_steps * *batch) return;
  if (*samples <= m.last_epoch) return;
  if (m.block) m.seen = samples;
  if (m.untold_s) add_block(*samples, true, line, state);
}

void take_run(const MlperfEvent& e, const LogLine& line, LogState& state) {
  MlperfState& m = mlperf_state(state);
  const auto since = [&](std::optional<double> begin) {
    return begin && e.ms >= *begin ? std::optional((e.ms - *begin) / 1e3) : std::nullopt;
  };
  if (e.key == "init_start") {
    if (!m.init) m.init = e.ms;  // every rank may say so
  } else if (e.key == "init_stop") {
    run_of(state).init_s = since(m.init);
  } else if (e.key == "run_start") {
    if (m.run) {
      state.begin_launch();
      const auto target = run_of(state).target_accuracy;
      state.log.run = LogRun{.tool = &mlperf_log.tool};
      state.log.run->target_accuracy = target;
    }
    m.run = e.ms;
    m.block_samples = 0;
    m.step.reset();
    m.told = 0;
    run_of(state);
    begin_block(e, state);
  } else if (e.key == "run_stop") {
    end_block(e, line, state);
    LogRun& run = run_of(state);
    run.run_s = since(m.run);
    const JsonValue* status = e.metadata == nullptr ? nullptr : e.metadata->find("status");
    run.status =
        status != nullptr && status->kind == JsonValue::Kind::text ? status->text : "ended";
    m.init.reset();
  } else if (e.key == "eval_start") {
    end_block(e, line, state);
    m.evaluation = e.ms;
  } else if (e.key == "eval_stop") {
    LogRun& run = run_of(state);
    if (const auto seconds = since(m.evaluation)) {
      ++run.evaluations;
      run.evaluation_s += *seconds;
    }
    m.evaluation.reset();
    if (m.run) begin_block(e, state);
  } else if (e.key == "target_accuracy") {
    run_of(state).target_accuracy = json_number(e.value);
  } else if (e.key == "eval_accuracy") {
    const auto accuracy = json_number(e.value);
    if (!accuracy) return;
    LogRun& run = run_of(state);
    if (!run.first_accuracy) run.first_accuracy = accuracy;
    run.last_accuracy = accuracy;
    const auto samples = samples_of(state.log, e);
    take_seen(samples, line, state);
    // Some count blocks here, and epochs elsewhere.
    const bool behind = samples && m.block_samples && *samples < *m.block_samples / 2;
    run.last_samples = behind ? std::nullopt : samples;
  }
}

// Values that are settings of the job, under the names of Megatron's arguments where it has one.
void take_setting(const MlperfEvent& e, LogState& state) {
  constexpr std::array<std::string_view, 10> keys = {"global_batch_size",
                                                     "max_sequence_length",
                                                     "gradient_accumulation_steps",
                                                     "opt_learning_rate_training_steps",
                                                     "train_samples",
                                                     "seed",
                                                     "submission_benchmark",
                                                     "submission_org",
                                                     "submission_platform",
                                                     "submission_division"};
  if (e.value == nullptr || std::ranges::find(keys, e.key) == keys.end()) return;
  const std::string name(e.key == "max_sequence_length" ? "seq_length" : e.key);
  if (e.value->kind == JsonValue::Kind::text)
    state.log.settings.insert_or_assign(name, e.value->text.substr(0, 200));
  else if (const auto n = json_number(e.value); n && std::abs(*n) < 1e15)
    state.log.settings.insert_or_assign(name, std::to_string(static_cast<std::int64_t>(*n)));
}

bool take_mlperf(const LogLine& line, LogState& state) {
  const std::size_t at = line.text.find(mllog);
  if (at == std::string_view::npos) return false;
  std::string_view text = line.text.substr(at + mllog.size());
  const std::size_t end = text.rfind('}');  // something may have been printed behind it
  if (end == std::string_view::npos) return state.note("records_cut"), false;
  const auto json = parse_json(text.substr(0, end + 1), "");
  if (!json || json->kind != JsonValue::Kind::object) return state.note("records_cut"), false;
  const JsonValue* key = json->find("key");
  auto ms = json_number(json->find("time_ms"));
  if (const auto s = json_number(json->find("time_s")); s && !ms) ms = *s * 1e3;  // of 2020
  if (key == nullptr || key->kind != JsonValue::Kind::text || !ms)
    return state.note("fields_not_understood"), false;
  const JsonValue* metadata = json->find("metadata");
  const MlperfEvent e{.key = key->text,
                      .ms = *ms,
                      .value = json->find("value"),
                      .metadata = metadata != nullptr && metadata->kind == JsonValue::Kind::object
                                      ? metadata
                                      : nullptr};
  count_line(state.log, mlperf_log.tool);
  if (e.key == "tracked_stats") {
    take_stats(e, line, state);
  } else if (e.key == "block_start") {
    begin_block(e, state);
  } else if (e.key == "epoch_start") {
    begin_epoch(e, state);
  } else if (e.key == "block_stop" || e.key == "epoch_stop") {
    end_block(e, line, state);
  } else if (e.key == "throughput") {
    if (const auto rate = json_number(e.value); rate && *rate > 0)
      mlperf_state(state).samples_per_s = rate;
  } else if (e.key == "train_loss") {
    take_loss(e, json_number(e.value), line, state);
  } else {
    take_run(e, line, state);
    take_setting(e, state);
  }
  return true;
}

constexpr std::array mlperf_words = {LogWord{mllog, take_mlperf}};

}  // namespace

const LogDialect mlperf_log = {
    .tool = {.name = "mlperf", .label = "MLPerf"},
    .words = mlperf_words,
    .how = "time of a step as printed, else the time of each block of training over its steps",
    .means = true};

}  // namespace stepscope
