// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {
namespace {

// The value of a Python dict's key: a number, possibly in quotes.
std::optional<double> value_of(std::string_view dict, std::string_view key) {
  const std::size_t at = dict.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = trimmed(dict.substr(at + key.size()));
  rest = trimmed(rest.substr(0, rest.find_first_of(",}")));
  if (rest.size() >= 2 && (rest.front() == '\'' || rest.front() == '"') &&
      rest.back() == rest.front())
    rest = rest.substr(1, rest.size() - 2);
  return clean_number(rest);
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
constexpr std::array<LogField, 5> dict_fields = {{
    {"'step_time':", &LogRecord::wall_ns, 1e9},
    {"'tokens_per_second_per_gpu':", &LogRecord::tokens_per_s_device},
    {"'tokens/train_per_sec_per_gpu':", &LogRecord::tokens_per_s_device},
    {"'memory/max_allocated (GiB)':", &LogRecord::memory_bytes, gib_bytes},
    {"'memory/max_mem_allocated(gib)':", &LogRecord::memory_bytes, gib_bytes},
}};

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
    return true;
  }
  const auto loss = value_of(dict, "'loss':");
  if (!loss) {
    state.note("fields_not_understood");
    return false;
  }
  LogRecord& record = state.add(hugging_face_log.tool, line);
  set_loss(record, loss);
  for (const LogField& field : dict_fields) {
    const auto value = value_of(dict, field.name);
    if (value && *value > 0) set_amount(record, field, value);
  }
  return true;
}

LogSteps hugging_face_steps(const JobLog& log) {
  const auto of_bar = [](const LogRecord& r) { return r.wall_ns && r.of_steps > 0; };
  const auto of_dict = [](const LogRecord& r) { return r.wall_ns && r.of_steps == 0; };
  LogSteps steps = place_steps(log, hugging_face_log, StepsBy::lines, "step_time", of_dict);
  if (steps.steps.empty())
    steps = place_steps(log, hugging_face_log, StepsBy::lines,
                        "the moving mean of its progress bar", of_bar);
  if (!steps.steps.empty() || !log.run_s || !log.run_steps_per_s) return steps;
  const double count = std::round(*log.run_s * *log.run_steps_per_s);
  if (!is_step(1e9 / *log.run_steps_per_s)) return steps;
  steps.how = "the mean of the whole run";
  steps.launches = {0};
  steps.steps.push_back(
      {.iteration = -1,
       .steps = std::max<std::int64_t>(1, count < 1e15 ? static_cast<std::int64_t>(count) : 1),
       .wall_ns = 1e9 / *log.run_steps_per_s,
       .record = log.records.size(),
       .cause = {}});
  return steps;
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
  JobLog whole;  // the means that stand outside of the history; those in it count first
  const auto take_entry = [&](const JsonValue& entry) {
    const auto step = json_number(entry, "step");
    take_means(log, [&](const char* key) { return json_number(entry, key); });
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
    if (!item.inner)
      take_means(whole, [&](const char* key) {
        return item.key == key ? json_number(item.value) : std::nullopt;
      });
    return Done{};
  };
  constexpr std::array<std::string_view, 6> keys = {"log_history",
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
  return Done{};
}

}  // namespace stepscope
