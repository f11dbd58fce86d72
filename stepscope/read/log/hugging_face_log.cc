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

// "01:23", "1:02:03" in seconds.
std::optional<double> clock_time(std::string_view text) {
  double seconds = 0;
  for (bool more = true; more;) {
    const std::size_t colon = text.find(':');
    more = colon != std::string_view::npos;
    const auto part = clean_integer(text.substr(0, colon));
    if (!part || *part < 0 || *part > 1'000'000) return std::nullopt;
    seconds = seconds * 60 + static_cast<double>(*part);
    if (more) text.remove_prefix(colon + 1);
  }
  return seconds;
}

// The epoch of a bar that restarts with each epoch: "Epoch 3:  10%|█  | 100/1000", "Epoch 3/10: …".
std::int64_t epoch_of_bar(std::string_view before) {
  constexpr std::string_view key = "Epoch ";
  constexpr std::int64_t most = 1'000'000;
  const std::size_t at = before.find(key);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = before.substr(at + key.size());
  std::size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
  return std::clamp<std::int64_t>(clean_integer(rest.substr(0, digits)).value_or(0), 0, most);
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
    return true;
  }
  const auto loss = value_of(dict, "'loss':");
  if (!loss) {
    state.note("fields_not_understood");
    return false;
  }
  LogRecord& record = state.add(hugging_face_log.tool, line);
  set_loss(record, loss);
  return true;
}

// " 10%|█  | 100/1000 [01:23<12:30,  1.20it/s]".
bool take_progress_bar(const LogLine& line, LogState& state) {
  // "100/1000 [01:23<12:30,  1.20it/s", parsed backwards from the unit.
  const std::string_view text = line.text;
  bool fast = false;
  std::size_t unit = std::string_view::npos;
  for (std::size_t at = text.rfind('/'); unit == std::string_view::npos;
       at = text.rfind('/', at - 1)) {
    if (at == std::string_view::npos || at == 0) return false;
    fast = at >= 2 && text.substr(at - 2, 4) == "it/s";
    if (fast)
      unit = at - 2;
    else if (text.substr(at - 1, 4) == "s/it")
      unit = at - 1;
  }
  const std::size_t open = text.substr(0, unit).rfind('[');
  if (open == std::string_view::npos) return false;
  const std::string_view inside = text.substr(open + 1, unit - open - 1);
  const std::size_t comma = inside.find(',');
  const std::size_t left = inside.find('<');
  if (comma == std::string_view::npos || left == std::string_view::npos || left > comma)
    return false;
  const auto rate = clean_number(inside.substr(comma + 1));
  const auto elapsed = clock_time(trimmed(inside.substr(0, left)));
  const std::string_view before = trimmed(text.substr(0, open));
  const std::size_t slash = before.rfind('/');
  if (!rate || !elapsed || !(*rate > 0) || !std::isfinite(*rate) || slash == std::string_view::npos)
    return false;  // "?it/s": no rate is known yet
  std::size_t number = slash;
  while (number > 0 && before[number - 1] != ' ' && before[number - 1] != '|') --number;
  const auto done = clean_integer(before.substr(number, slash - number));
  const auto total = clean_integer(before.substr(slash + 1));
  constexpr std::int64_t most_log_steps = 1'000'000'000'000;
  if (!done || !total || *done < 1 || *total < *done || *total > most_log_steps) return false;
  LogRecord& record = state.add(hugging_face_log.tool, line);
  record.iteration = epoch_of_bar(before) * *total + *done;
  record.of_steps = *total;
  record.elapsed_s = *elapsed;
  record.wall_ns = fast ? 1e9 / *rate : 1e9 * *rate;
  count_line(state.log, hugging_face_log.tool);
  return true;
}

// The training bar is the one that runs longest. Lines without a number are placed by its position.
void settle_bars(JobLog& log) {
  std::int64_t total = 0;
  double longest = -1;
  for (const LogRecord& r : log.records)
    if (r.of_steps > 0 && r.elapsed_s.value_or(0) > longest) {
      longest = *r.elapsed_s;
      total = r.of_steps;
    }
  const std::size_t others = std::erase_if(
      log.records, [&](const LogRecord& r) { return r.of_steps > 0 && r.of_steps != total; });
  if (others > 0) log.notes["lines_of_other_progress_bars"] += others;
  std::int64_t done = -1;
  for (LogRecord& r : log.records) {
    if (r.tool != &hugging_face_log.tool) continue;
    if (r.of_steps > 0) done = r.iteration;
    if (r.iteration < 0) r.iteration = done;
  }
}

LogSteps hugging_face_steps(const JobLog& log) {
  LogSteps steps = place_steps(log, hugging_face_log, false, "the moving mean of its progress bar",
                               [](const LogRecord& r) { return r.wall_ns.has_value(); });
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

constexpr std::array hugging_face_words = {
    LogWord{"{'loss'", take_hugging_face_dict},
    LogWord{"{'eval_", take_hugging_face_dict},
    LogWord{"{'train_", take_hugging_face_dict},
    LogWord{"it/s]", take_progress_bar},
    LogWord{"s/it]", take_progress_bar},
    LogWord{"it/s, ", take_progress_bar},  // the text behind it is the program's
    LogWord{"s/it, ", take_progress_bar}};

}  // namespace

const LogDialect hugging_face_log = {
    .tool = {.name = "hugging_face", .label = "Hugging Face Trainer"},
    .words = hugging_face_words,
    .steps = hugging_face_steps,
    .settle = settle_bars};

bool is_trainer_state(std::string_view head) {
  return trimmed(head).starts_with('{') &&
         (contains(head, "\"log_history\"") || contains(head, "\"best_model_checkpoint\""));
}

Result<Done> take_trainer_state(std::string_view text, std::string_view path, JobLog& log) {
  const auto json = parse_json(text, path);
  if (!json) return json.error();
  const JsonValue* history = json->find("log_history");
  if (history == nullptr || history->kind != JsonValue::Kind::list)
    return Error{.what = "has no log_history",
                 .file = std::string(path),
                 .hint = "give the trainer_state.json of a checkpoint"};
  log.text_bytes = text.size();
  take_means(log, [&](const char* key) { return json_number(*json, key); });
  for (const JsonValue& entry : history->items) {
    const auto step = json_number(entry, "step");
    take_means(log, [&](const char* key) { return json_number(entry, key); });
    const JsonValue* loss = entry.find("loss");
    if (loss == nullptr || !step || !(*step >= 0 && *step < 1e15)) continue;
    LogRecord record;
    record.tool = &hugging_face_log.tool;
    record.iteration = static_cast<std::int64_t>(*step);
    // "NaN" is not a JSON number.
    set_loss(record, json_number(entry, "loss"));
    log.records.push_back(record);
    count_line(log, hugging_face_log.tool);
  }
  return Done{};
}

}  // namespace stepscope
