// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <any>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "stepscope/read/bars/bar_steps.h"
#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/log/duration_text.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {
namespace {

// The text of a Python dict's value, without its quotes. Empty without the key.
std::string_view dict_text(std::string_view dict, std::string_view key) {
  const std::size_t at = dict.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = trimmed(dict.substr(at + key.size()));
  rest = trimmed(rest.substr(0, rest.find_first_of(",}")));
  if (rest.size() >= 2 && (rest.front() == '\'' || rest.front() == '"') &&
      rest.back() == rest.front())
    rest = rest.substr(1, rest.size() - 2);
  return rest;
}

// The value of a Python dict's key: a number, possibly in quotes.
std::optional<double> value_of(std::string_view dict, std::string_view key) {
  return clean_number(dict_text(dict, key));
}

// The number of the step in a dict, where a callback adds it: ms-swift's '15/1000', 'step'. -1
// without one.
std::int64_t step_of(std::string_view dict) {
  const std::string_view place = dict_text(dict, "'global_step/max_steps':");
  if (const auto step = clean_integer(place.substr(0, place.find('/'))); step && *step >= 0)
    return *step;
  for (const std::string_view key : {"'global_step':", "'step':"})
    if (const auto step = clean_integer(dict_text(dict, key)); step && *step >= 0) return *step;
  return -1;
}

void take_means(JobLog& log, auto value) {
  log.run_tool = &hugging_face_log.tool;
  const auto keep = [&](const char* key, std::optional<double>& into) {
    if (const std::optional<double> v = value(key); v && *v > 0 && std::isfinite(*v)) into = v;
  };
  keep("train_runtime", log.run_s);
  keep("train_samples_per_second", log.run_samples_per_s);
  keep("train_steps_per_second", log.run_steps_per_s);
  keep("train_tokens_per_second", log.run_tokens_per_s);
  keep("total_flos", log.run_flops);
}

// What TRL's trainers (step_time in trl/trainer/grpo_trainer.py) and axolotl
// (axolotl/utils/callbacks/tokens_per_second.py, core/trainers/mixins) add to the Trainer's dict.
// Liger-Kernel adds the tokens/s of all devices (examples/huggingface/callback.py).
constexpr std::array<LogField, 6> dict_fields = {{
    {"'step_time':", &LogRecord::wall_ns, 1e9},
    {"'step_tokens_per_second':", &LogRecord::tokens_per_s},
    {"'tokens_per_second_per_gpu':", &LogRecord::tokens_per_s_device},
    {"'tokens/train_per_sec_per_gpu':", &LogRecord::tokens_per_s_device},
    {"'memory/max_allocated (GiB)':", &LogRecord::memory_bytes, gib_bytes},
    {"'memory/max_mem_allocated(gib)':", &LogRecord::memory_bytes, gib_bytes},
}};

// The summary of a run stands before the last line of its bar. Where bars show no other line, a run
// begins behind each such line.
void begin_run_of_one_line(LogState& state) {
  std::any& kept = state.kept[&hugging_face_log.tool];
  const std::size_t now = state.log.records.size();
  if (kept.has_value() && now == std::any_cast<std::size_t>(kept) + 1 &&
      state.log.records.back().of_steps == state.log.records.back().iteration)
    state.begin_launch();
  kept = now;
}

// "{'loss': 1.2345, …}", "{'train_runtime': …}".
bool take_hugging_face_dict(const LogLine& line, LogState& state) {
  const std::size_t open = line.text.rfind('{');
  if (open == std::string_view::npos) return false;
  const std::string_view rest = line.text.substr(open);
  const std::size_t end = rest.find('}');
  if (end == std::string_view::npos) {
    state.note("records_cut");
    return false;
  }
  const std::string_view dict = rest.substr(0, end + 1);
  count_line(state.log, hugging_face_log.tool);
  if (dict.find("'eval_") != std::string_view::npos) {
    state.evaluated.set();
    return true;
  }
  if (dict.find("'train_runtime'") != std::string_view::npos) {
    take_means(state.log,
               [&](const char* key) { return value_of(dict, '\'' + std::string(key) + "':"); });
    if (const std::int64_t steps = step_of(dict); steps > 0) state.log.run_steps = steps;
    begin_run_of_one_line(state);
    return true;
  }
  const auto loss = value_of(dict, "'loss':");
  if (!loss) {
    state.note("fields_not_understood");
    return false;
  }
  LogRecord& record = state.add(hugging_face_log.tool, line);
  set_loss(record, loss);
  record.iteration = step_of(dict);
  if (record.iteration >= 0) record.stamp = stamp_of_line(line.text);
  record.elapsed_s = seconds_of_duration(dict_text(dict, "'elapsed_time':"));
  for (const LogField& field : dict_fields) {
    const auto value = value_of(dict, field.name);
    if (value && *value > 0) set_amount(record, field, value);
  }
  if (record.elapsed_s && !record.wall_ns) {
    // ms-swift: a mean since the begin.
    const auto speed = value_of(dict, "'train_speed(iter/s)':");
    const auto time = value_of(dict, "'train_speed(s/it)':");
    if (speed && *speed > 0) record.wall_ns = giga / *speed;
    if (time && *time > 0) record.wall_ns = giga * *time;
  }
  return true;
}

// speed_metrics() in transformers/trainer_utils.py rounds the rate to three decimals.
constexpr double half_digit = 0.0005;

// The one whole number of steps that the rate of a run allows; absent if it allows several.
std::optional<std::int64_t> steps_of_rate(double run_s, double rate) {
  const double least = std::ceil(run_s * (rate - half_digit));
  const double most = std::floor(run_s * (rate + half_digit));
  if (!(least >= 1) || least != most || least > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(least);
}

// The mean of a run, by its runtime and its steps, else by the rate that it prints.
LogSteps mean_of_run(const JobLog& log) {
  LogSteps steps;
  LogStep step{.iteration = -1, .steps = 1, .record = log.records.size(), .cause = {}};
  const double rate = log.run_steps_per_s.value_or(0);
  const auto one = log.run_s ? steps_of_rate(*log.run_s, rate) : std::nullopt;
  if (log.run_s && (log.run_steps ? *log.run_steps > 0 : one.has_value())) {
    steps.how = log.run_steps ? "train_runtime / its steps"
                              : "train_runtime / the one number of steps that its rate allows";
    step.steps = log.run_steps ? *log.run_steps : *one;
    step.wall_ns = *log.run_s * giga / static_cast<double>(step.steps);
  } else if (log.run_s && rate > half_digit) {
    const auto ms = [](double per_s) { return std::to_string(std::llround(1e3 / per_s)); };
    steps.how = "the mean of the whole run by its rounded rate";
    if (const double below = 1e3 / (rate + half_digit), above = 1e3 / (rate - half_digit);
        above < 1e15 && std::llround(below) != std::llround(above))
      steps.how += ", between " + ms(rate + half_digit) + " and " + ms(rate - half_digit) + " ms";
    const double count = std::round(*log.run_s * rate);
    steps.steps_rounded = true;
    step.steps = std::max<std::int64_t>(1, count < 1e15 ? static_cast<std::int64_t>(count) : 1);
    step.wall_ns = giga / rate;
  }
  if (!is_step(step.wall_ns)) return {};
  steps.tool = &hugging_face_log.tool;
  steps.launches = {0};
  steps.steps.push_back(std::move(step));
  return steps;
}

// The mean since the begin, which ms-swift prints as a speed: of the last line.
LogSteps mean_of_speed(const JobLog& log) {
  LogSteps steps;
  for (std::size_t i = log.records.size(); i > 0; --i) {
    const LogRecord& r = log.records[i - 1];
    if (r.tool != &hugging_face_log.tool || r.of_steps > 0 || r.iteration < 1) continue;
    if (!r.elapsed_s || !r.wall_ns) continue;
    // Another time, or steps that an earlier run made, do not give the elapsed time.
    const double whole_s = *r.wall_ns / giga * static_cast<double>(r.iteration);
    if (std::fabs(whole_s - *r.elapsed_s) > 1 + 0.01 * *r.elapsed_s || !is_step(*r.wall_ns))
      continue;
    steps.tool = &hugging_face_log.tool;
    steps.how = "train_speed, the mean since the begin";
    steps.launches = {0};
    steps.steps.push_back({.iteration = r.iteration,
                           .steps = r.iteration,
                           .wall_ns = *r.wall_ns,
                           .record = i - 1,
                           .cause = {}});
    return steps;
  }
  return steps;
}

LogSteps hugging_face_steps(const JobLog& log) {
  const auto of_dict = [](const LogRecord& r) {
    return r.wall_ns && r.of_steps == 0 && !r.elapsed_s;
  };
  const auto of_swift = [](const LogRecord& r) { return r.elapsed_s && r.of_steps == 0; };
  const auto numbered = [](const LogRecord& r) { return r.stamp && r.iteration >= 0; };
  LogSteps steps = place_steps(log, hugging_face_log, StepsBy::lines, "step_time", of_dict);
  if (!steps.steps.empty()) return steps;
  steps = steps_of_bars(log, hugging_face_log);
  if (!steps.steps.empty()) return steps;
  steps = steps_between_lines(log, hugging_face_log, of_swift);
  if (!steps.steps.empty()) {
    steps.how = "differences of elapsed_time";
    return steps;
  }
  steps = place_steps(log, hugging_face_log, StepsBy::stamps, by_stamps, numbered);
  if (!steps.steps.empty()) return steps;
  steps = mean_of_run(log);
  return steps.steps.empty() ? mean_of_speed(log) : steps;
}

constexpr std::array hugging_face_words = {LogWord{"{'loss'", take_hugging_face_dict},
                                           LogWord{"{'eval_", take_hugging_face_dict},
                                           LogWord{"{'train_", take_hugging_face_dict}};

}  // namespace

const LogDialect hugging_face_log = {
    .tool = {.name = "hugging_face", .label = "Hugging Face Trainer"},
    .words = hugging_face_words,
    .steps = hugging_face_steps};

bool is_trainer_state(std::string_view head) {
  return trimmed(head).starts_with('{') &&
         (contains(head, "\"log_history\"") || contains(head, "\"best_model_checkpoint\""));
}

Result<Done> take_trainer_state(ByteSource& source, std::string_view path, JobLog& log) {
  bool listed = false;
  JobLog whole;          // the means that stand outside of the history; those in it count first
  double run_begin = 0;  // the step at which the run before ended, of several in one history
  std::optional<double> steps_of_run;
  std::optional<double> global_step;
  std::optional<double> max_steps;
  std::optional<double> tokens_seen;
  bool several_runs = false;
  const auto take_run = [&](const JsonValue& entry, std::optional<double> step) {
    if (!json_number(entry, "train_runtime")) return;
    count_line(log, hugging_face_log.tool);
    steps_of_run.reset();
    if (!step) return;
    several_runs = run_begin > 0;
    steps_of_run = *step - run_begin;
    run_begin = *step;
  };
  const auto take_entry = [&](const JsonValue& entry) {
    const auto step = json_number(entry, "step");
    take_means(log, [&](const char* key) { return json_number(entry, key); });
    take_run(entry, step);
    const JsonValue* loss = entry.find("loss");
    if (loss == nullptr || !step || !(*step >= 0 && *step < 1e15)) return;
    LogRecord record;
    record.tool = &hugging_face_log.tool;
    record.iteration = static_cast<std::int64_t>(*step);
    // "NaN" is not a JSON number.
    set_loss(record, json_number(entry, "loss"));
    log.records.push_back(record);
    count_line(log, hugging_face_log.tool);
  };
  const auto take = [&](const JsonItem& item) -> Result<Done> {
    const bool history = item.key == "log_history";
    listed = listed || (history && item.value == nullptr);
    if (item.value == nullptr) return Done{};
    if (history && item.inner) take_entry(*item.value);
    if (item.inner) return Done{};
    take_means(whole, [&](const char* key) {
      return item.key == key ? json_number(item.value) : std::nullopt;
    });
    if (item.key == "train_runtime") count_line(log, hugging_face_log.tool);
    if (item.key == "global_step") global_step = json_number(item.value);
    if (item.key == "max_steps") max_steps = json_number(item.value);
    if (item.key == "num_input_tokens_seen") tokens_seen = json_number(item.value);
    return Done{};
  };
  constexpr std::array<std::string_view, 9> keys = {"log_history",
                                                    "global_step",
                                                    "max_steps",
                                                    "num_input_tokens_seen",
                                                    "train_runtime",
                                                    "train_samples_per_second",
                                                    "train_steps_per_second",
                                                    "train_tokens_per_second",
                                                    "total_flos"};
  const auto bytes = for_json_items(source, path, take, {.keys = keys});
  if (!bytes) return bytes.error();
  if (!listed)
    return Error{.what = "has no log_history",
                 .file = std::string(path),
                 .hint = "give the trainer_state.json of a checkpoint"};
  log.text_bytes = *bytes;
  log.run_tool = &hugging_face_log.tool;
  for (const auto mean : {&JobLog::run_s, &JobLog::run_samples_per_s, &JobLog::run_steps_per_s,
                          &JobLog::run_tokens_per_s, &JobLog::run_flops})
    if (!(log.*mean)) log.*mean = whole.*mean;
  // A run may stop before max_steps.
  const std::optional<double> steps = steps_of_run   ? steps_of_run
                                      : several_runs ? std::nullopt
                                      : global_step  ? global_step
                                                     : max_steps;
  if (steps && *steps >= 1 && *steps < 1e15) log.run_steps = static_cast<std::int64_t>(*steps);
  if (!log.run_tokens_per_s && !several_runs && log.run_s && tokens_seen && *tokens_seen > 0)
    log.run_tokens_per_s = *tokens_seen / *log.run_s;
  return Done{};
}

}  // namespace stepscope
