// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/log_pattern.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

constexpr std::size_t npos = std::string_view::npos;

// Lines have many blanks, so the letters behind a blank in front of the name are searched.
std::size_t first_place(std::string_view text, std::string_view name) {
  const std::size_t blank = is_blank(name.front()) ? 1 : 0;
  const std::string_view letters = name.substr(blank);
  std::size_t at = text.find(letters, blank);
  while (at != npos && text[at - blank] != name.front()) at = text.find(letters, at + 1);
  return at == npos ? npos : at - blank;
}

std::size_t next_place(std::string_view text, std::string_view name, std::size_t at) {
  const std::size_t next = first_place(text.substr(at + 1), name);
  return next == npos ? npos : at + 1 + next;
}

// The last one that begins at `most` or before.
std::size_t last_place(std::string_view text, std::string_view name, std::size_t most) {
  std::size_t at = text.rfind(name.front(), most);
  while (at != npos && !text.substr(at).starts_with(name))
    at = at == 0 ? npos : text.rfind(name.front(), at - 1);
  return at;
}

// What std::find_first_of() and find_last_of() do, which call a function for each character.
bool is_one_of(char c, std::string_view set) {
  for (const char one : set)
    if (c == one) return true;
  return false;
}
std::string_view up_to(std::string_view text, std::string_view ends) {
  std::size_t size = 0;
  while (size < text.size() && !is_one_of(text[size], ends)) ++size;
  return text.substr(0, size);
}
std::string_view last_word(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && !is_one_of(text[at - 1], " \t(|")) --at;
  return text.substr(at);
}

// Behind a name, '=' or ':', and blanks. numpy's scalars print their type: "np.float64(1.5)".
std::string_view value_behind(std::string_view text, std::string_view name) {
  std::string_view rest = text.substr(name.size());
  if (rest.starts_with('=') || rest.starts_with(':')) rest.remove_prefix(1);
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
  if (rest.starts_with("np.float")) rest.remove_prefix(std::min(rest.find('(') + 1, rest.size()));
  return rest;
}

// "4.71K" in ones.
std::optional<double> lettered(std::string_view text) {
  const auto value = number_and_unit(text);
  if (!value || value->unit.empty()) return value ? std::optional(value->number) : std::nullopt;
  constexpr std::string_view letters = "KMGTPE";
  const std::size_t power = letters.find(value->unit.front());
  if (power == npos || value->unit.size() > 1) return std::nullopt;
  return value->number * std::pow(1e3, static_cast<double>(power + 1));
}

// The amount of a field with its name at `at`.
std::optional<double> amount_at(std::string_view text, std::size_t at, const LogField& field,
                                const LogPattern& pattern) {
  if (at == npos) return std::nullopt;
  if (field.place == LogPlace::before) return clean_number(last_word(text.substr(0, at)));
  const std::string_view rest = value_behind(text.substr(at), field.name);
  if (field.after.empty()) {
    const std::string_view number = up_to(rest, pattern.ends);
    return pattern.letters ? lettered(number) : clean_number(number);
  }
  constexpr std::size_t longest = 40;
  const std::string_view near = rest.substr(0, longest);
  const std::size_t end = near.find(field.after);
  if (end == npos || near.substr(0, end).find(' ') != npos) return std::nullopt;
  return clean_number(near.substr(0, end));
}

// "3/18865", "100:", "7]".
std::string_view count_in(std::string_view text, const LogPattern& pattern) {
  return up_to(up_to(text, pattern.ends), "/:]");
}

std::int32_t epoch_of(std::string_view text, const LogPattern& pattern) {
  constexpr std::int64_t most = 1'000'000;
  const std::size_t at = pattern.epoch.empty() ? npos : first_place(text, pattern.epoch);
  if (at == npos) return -1;
  std::string_view rest = value_behind(text.substr(at), pattern.epoch);
  if (rest.starts_with('[')) rest = trimmed(rest.substr(1));
  const auto epoch = clean_integer(count_in(rest, pattern));
  return epoch && *epoch >= 0 && *epoch <= most ? static_cast<std::int32_t>(*epoch) : -1;
}

std::optional<std::int64_t> step_of(std::string_view text, const LogPattern& pattern) {
  const std::string_view rest = value_behind(text, pattern.step);
  const std::string_view number = count_in(rest, pattern);
  const auto step = clean_number(number);
  const bool whole = step && *step >= 0 && *step < 1e15 && *step == std::floor(*step);
  if (!whole || !rest.substr(number.size()).starts_with(pattern.behind_step)) return std::nullopt;
  return static_cast<std::int64_t>(*step);
}

// "FWD time: " as the name of a timer.
std::string_view timer_name(std::string_view name) {
  const std::size_t end = name.find_last_not_of(" :=,|'\"");
  const std::size_t begin = name.find_first_not_of(" :=,|'\"");
  return begin == npos ? name : name.substr(begin, end + 1 - begin);
}

void take_amount_of(const LogTool& tool, const LogField& field, std::optional<double> amount,
                    LogRecord& record, LogState& state) {
  if (field.into != nullptr) return set_amount(record, field, amount);
  if (amount && std::isfinite(*amount))
    state.time(tool, timer_name(field.name), *amount * field.unit);
}

// "timing_s/gen:51.0 - timing_s/step:102.0": all but the first field, which is the step.
void take_named_timers(const LogTool& tool, const LogPattern& pattern, std::string_view text,
                       LogState& state) {
  if (pattern.timers.empty()) return;
  for (std::size_t at = text.find(pattern.timers); at != npos;
       at = text.find(pattern.timers, at + 1)) {
    const std::string_view rest = text.substr(at);
    const std::size_t colon = rest.find(':');
    if (colon == npos) return;
    const std::string_view name = rest.substr(0, colon);
    if (name.find(' ') != npos || rest.starts_with(pattern.fields.front().name)) continue;
    if (name.ends_with("_length")) continue;  // verl keeps lengths of the slowest answer there
    const auto seconds = clean_number(up_to(value_behind(rest, name), pattern.ends));
    if (seconds && std::isfinite(*seconds))
      state.time(tool, name.substr(pattern.timers.size()), *seconds * 1e3);
  }
}

// A letter of a longer name: "timing_s/step:" is not the step's number.
bool belongs_to_name(char c) { return is_word_letter(c) || c == '/'; }

LogRecord* cut(LogState& state) {
  state.note("records_cut");
  return nullptr;
}

// Whether a record needs this field: it says how long the step took.
bool is_measured(const LogField& field, std::optional<double> amount) {
  return amount && *amount > 0 && (field.into != &LogRecord::wall_ns || std::isfinite(*amount));
}

void open_record(const LogTool& tool, const LogPattern& pattern, const LogLine& line,
                 LogState& state) {
  const std::size_t at = line.text.find(pattern.step);
  const auto step = step_of(line.text.substr(at), pattern);
  close_record(tool, state);
  if (!step) return;
  LogRecord& record = state.open[&tool];
  record.rank = line.rank;
  record.iteration = *step;
  if (pattern.stamped) record.stamp = stamp_of_line(line.text);
}

void fill_record(const LogTool& tool, const LogPattern& pattern, const LogLine& line,
                 LogState& state) {
  const auto record = state.open.find(&tool);
  if (record == state.open.end()) return;  // another program's line, or the head was cut
  for (const LogField& field : pattern.fields) {
    const auto amount = amount_at(line.text, first_place(line.text, field.name), field, pattern);
    const bool known =
        !pattern.positive || field.into == &LogRecord::loss || (amount && *amount > 0);
    if (known) take_amount_of(tool, field, amount, record->second, state);
  }
}

}  // namespace

void close_record(const LogTool& tool, LogState& state) {
  const auto open = state.open.find(&tool);
  if (open == state.open.end()) return;
  const LogRecord filled = open->second;
  state.open.erase(open);
  const bool says = filled.wall_ns || filled.tokens_per_s_device || filled.tokens_per_s ||
                    filled.elapsed_s || filled.loss;
  if (!says) return;  // another program's head
  LogRecord& record = state.add(tool, {.text = {}, .rank = filled.rank});
  const LogRecord added = record;
  record = filled;
  record.tool = added.tool;
  record.launch = added.launch;
  record.evaluated = added.evaluated || filled.evaluated;
  record.saved = added.saved;
  count_line(state.log, tool);
}

void set_amount(LogRecord& record, const LogField& field, std::optional<double> amount) {
  if (field.into == &LogRecord::loss) return set_loss(record, amount);
  if (!amount) return;
  if (field.unit == per_second)
    record.*field.into = *amount > 0 ? std::optional(-field.unit / *amount) : std::nullopt;
  else
    record.*field.into = field.unit == percent ? *amount / 100 : *amount * field.unit;
}

LogRecord* take_record(const LogTool& tool, const LogPattern& pattern, const LogLine& line,
                       LogState& state) {
  if (pattern.fields.empty()) return open_record(tool, pattern, line, state), nullptr;
  if (pattern.step.empty()) return fill_record(tool, pattern, line, state), nullptr;
  const LogField& first = pattern.fields.front();
  std::size_t at = first_place(line.text, first.name);
  std::size_t begin = npos;
  std::size_t step_at = npos;
  std::optional<double> amount;
  // A line may begin with the heads of others, which were cut where this one was written.
  constexpr int most_heads = 4;
  for (int heads = 0;; ++heads, at = next_place(line.text, first.name, at)) {
    step_at = pattern.step_in_line ? first_place(line.text, pattern.step)
                                   : last_place(line.text, pattern.step, at);
    const bool in_line = pattern.step_in_line && step_at != npos;
    if (in_line && step_at > 0 && belongs_to_name(line.text[step_at - 1])) return cut(state);
    begin = in_line ? 0 : step_at;
    amount = begin == npos ? std::nullopt : amount_at(line.text, at, first, pattern);
    if (at == npos || heads == most_heads || is_measured(first, amount)) break;
  }
  const bool measured = is_measured(first, amount);
  if (pattern.shared && !measured) return nullptr;
  const auto step = measured ? step_of(line.text.substr(step_at), pattern) : std::nullopt;
  if (!step) return cut(state);
  LogRecord& record = state.add(tool, line);
  record.iteration = *step;
  record.epoch = epoch_of(line.text, pattern);
  if (pattern.stamped) record.stamp = stamp_of_line(line.text);
  set_amount(record, first, amount);
  for (const LogField& field : pattern.fields.subspan(1)) {
    const std::string_view text =
        field.place == LogPlace::in_line ? line.text : line.text.substr(begin);
    const auto value = amount_at(text, first_place(text, field.name), field, pattern);
    const bool known = !pattern.positive || field.into == &LogRecord::loss || (value && *value > 0);
    if (known) take_amount_of(tool, field, value, record, state);
  }
  take_named_timers(tool, pattern, line.text.substr(begin), state);
  count_line(state.log, tool);
  return &record;
}

}  // namespace stepscope
