// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/log_pattern.h"

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

// Behind a name, '=' or ':', and blanks.
std::string_view value_behind(std::string_view text, std::string_view name) {
  std::string_view rest = text.substr(name.size());
  if (rest.starts_with('=') || rest.starts_with(':')) rest.remove_prefix(1);
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
  return rest;
}

// The amount of a field with its name at `at`.
std::optional<double> amount_at(std::string_view text, std::size_t at, const LogField& field,
                                std::string_view ends) {
  if (at == npos) return std::nullopt;
  if (field.place == LogPlace::before) return clean_number(last_word(text.substr(0, at)));
  return clean_number(up_to(value_behind(text.substr(at), field.name), ends));
}

std::optional<std::int64_t> step_of(std::string_view text, const LogPattern& pattern) {
  const std::string_view rest = value_behind(text, pattern.step);
  const std::string_view number = up_to(up_to(rest, pattern.ends), "/:");  // "3/18865", "100:"
  const auto step = clean_number(number);
  const bool whole = step && *step >= 0 && *step < 1e15 && *step == std::floor(*step);
  if (!whole || !rest.substr(number.size()).starts_with(pattern.behind_step)) return std::nullopt;
  return static_cast<std::int64_t>(*step);
}

}  // namespace

void set_amount(LogRecord& record, const LogField& field, std::optional<double> amount) {
  if (field.into == &LogRecord::loss) return set_loss(record, amount);
  if (amount) record.*field.into = field.unit == percent ? *amount / 100 : *amount * field.unit;
}

LogRecord* take_record(const LogTool& tool, const LogPattern& pattern, const LogLine& line,
                       LogState& state) {
  const LogField& first = pattern.fields.front();
  const std::size_t at = first_place(line.text, first.name);
  const std::size_t begin = last_place(line.text, pattern.step, at);
  const auto amount = begin == npos ? std::nullopt : amount_at(line.text, at, first, pattern.ends);
  const bool measured =
      amount && *amount > 0 && (first.into != &LogRecord::wall_ns || std::isfinite(*amount));
  if (pattern.shared && !measured) return nullptr;
  const auto step = measured ? step_of(line.text.substr(begin), pattern) : std::nullopt;
  if (!step) return state.note("records_cut"), nullptr;
  LogRecord& record = state.add(tool, line);
  record.iteration = *step;
  if (pattern.stamped) record.stamp = stamp_of_line(line.text);
  set_amount(record, first, amount);
  for (const LogField& field : pattern.fields.subspan(1)) {
    const std::string_view text =
        field.place == LogPlace::in_line ? line.text : line.text.substr(begin);
    const auto value = amount_at(text, first_place(text, field.name), field, pattern.ends);
    const bool known = !pattern.positive || field.into == &LogRecord::loss || (value && *value > 0);
    if (known) set_amount(record, field, value);
  }
  count_line(state.log, tool);
  return &record;
}

}  // namespace stepscope
