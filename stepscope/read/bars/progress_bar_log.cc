// SPDX-License-Identifier: Apache-2.0
// Progress bars: tqdm's own line (tqdm/std.py, format_meter), Lightning's bar of rich
// (lightning/pytorch/callbacks/progress/rich_progress.py), and tqdm as lines of a log
// (tqdm_loggable/tqdm_logging.py), which levanter uses, and the bar of Ultralytics.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "stepscope/base/number_text.h"
#include "stepscope/read/bars/bar_steps.h"
#include "stepscope/read/bars/bar_work.h"
#include "stepscope/read/log/duration_text.h"
#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// The epoch of a bar that begins anew with each: "Epoch 3:", "Epoch 3/10:", "   3/400   17.9G …" of
// YOLO. -1 without one.
std::int32_t epoch_of_bar(std::string_view before) {
  if (const std::int32_t epoch = epoch_of_line(before); epoch >= 0) return epoch;
  std::string_view rest = trimmed(before);
  const auto epoch = take_number<std::int32_t>(rest);
  constexpr std::int32_t most = 1'000'000;
  if (!epoch || *epoch < 0 || *epoch > most || !rest.starts_with('/')) return -1;
  rest.remove_prefix(1);
  const auto all = take_number<std::int32_t>(rest);
  return all && *all >= *epoch && rest.starts_with(' ') ? *epoch : -1;
}

struct BarPlace {
  std::string_view before;  // the bar's description
  std::int64_t done = 0;
  std::int64_t total = 0;
};

LogRecord& add_bar(const LogTool& tool, const LogLine& line, const BarPlace& place,
                   LogState& state) {
  LogRecord& record = state.add(tool, line);
  record.epoch = epoch_of_bar(place.before);
  record.iteration = place.done;
  record.of_steps = place.total;
  count_line(state.log, tool);
  return record;
}

constexpr std::int64_t most_bar_steps = 1'000'000'000'000;

// tqdm prints the unit that a program gives. Nobody knows how many "examples" a step has.
constexpr std::array<std::string_view, 9> step_units = {
    "it", "batch", "batches", "step", "steps", "iter", "iters", "update", "updates"};

// " 1.20it/s", "5.01s/batch", perhaps cut at the terminal's edge.
struct BarRate {
  double number = 0;
  std::string_view unit{};
  bool per_step = false;  // seconds of a step, not steps a second
};

// Absent for "?it/s": no rate is known yet.
std::optional<BarRate> bar_rate(std::string_view text) {
  std::string_view rest = trimmed(text);
  const auto number = take_number<double>(rest);
  if (!number) return std::nullopt;
  std::string_view unit = trimmed(rest.substr(0, rest.find_first_of(",]")));
  const bool per_step = unit.starts_with("s/");
  if (per_step) unit.remove_prefix(2);
  if (!per_step) unit = unit.substr(0, unit.find('/'));
  return BarRate{.number = *number, .unit = unit, .per_step = per_step};
}

// The time of a step; absent where the line was cut in its rate.
std::optional<double> ns_of_rate(std::string_view text) {
  const auto rate = bar_rate(text);
  const bool whole = text.find_first_of(",]") != std::string_view::npos;
  if (!rate || !whole || !(rate->number > 0) || !std::isfinite(rate->number) ||
      std::ranges::find(step_units, rate->unit) == step_units.end())
    return std::nullopt;
  return rate->per_step ? 1e9 * rate->number : 1e9 / rate->number;
}

// Whether a bar counts steps, by its rate. A bar may show figures of the program instead of a rate:
// "v_num=, train_loss=1.5".
bool counts_steps(std::string_view text) {
  const std::string_view rest = trimmed(text);
  if (rest.empty() || rest.substr(0, rest.find(',')).find('=') != std::string_view::npos)
    return true;
  const auto rate = bar_rate(rest);
  return rate && std::ranges::any_of(step_units, [&](std::string_view unit) {
           return rate->unit == unit ||
                  (unit.starts_with(rate->unit) && rest.ends_with(rate->unit));
         });
}

// The digits that a text ends with.
std::string_view digits_at_end(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  return text.substr(begin);
}

struct TqdmBar {
  BarPlace place{};
  double elapsed_s = 0;
  std::string_view rate{};  // and what follows it
};

// A bar whose bracket is at `open`: " 10%|█  | 100/1000 [01:23<12:30,  1.20it/s]", and without a
// total "0%|   | 614/? [23:53<00:00, …]" and "614it [23:53,  2.33s/it]".
std::optional<TqdmBar> bar_at(std::string_view text, std::size_t open) {
  const std::string_view inside = text.substr(open + 1);
  std::string_view before = trimmed(text.substr(0, open));
  const bool counter = before.ends_with("it");
  const std::size_t left = inside.find(counter ? ',' : '<');
  if (left == std::string_view::npos) return std::nullopt;
  const auto elapsed = seconds_of_duration(trimmed(inside.substr(0, left)));
  if (!elapsed) return std::nullopt;
  std::optional<std::int64_t> total = 0;
  if (counter) {
    before.remove_suffix(2);
  } else if (before.ends_with("/?")) {
    before.remove_suffix(2);
  } else {
    const std::string_view digits = digits_at_end(before);
    before.remove_suffix(digits.size());
    if (!before.ends_with('/')) return std::nullopt;
    before.remove_suffix(1);
    total = clean_integer(digits);
    if (!total || *total < 1) return std::nullopt;
  }
  const std::string_view done_digits = digits_at_end(before);
  before.remove_suffix(done_digits.size());
  if (!before.empty() && before.back() != ' ' && before.back() != '|') return std::nullopt;
  const auto done = clean_integer(done_digits);
  if (!done || *done < 1 || *done > most_bar_steps || (*total > 0 && *total < *done) ||
      *total > most_bar_steps)
    return std::nullopt;
  const std::size_t comma = inside.find(',', left);
  return TqdmBar{.place = {.before = before, .done = *done, .total = *total},
                 .elapsed_s = *elapsed,
                 .rate = comma == std::string_view::npos ? "" : inside.substr(comma + 1)};
}

// The text of a bar before its percentage, without another bar before it.
std::string_view description_of_bar(std::string_view before) {
  std::size_t end = before.rfind("%|");
  if (end == std::string_view::npos) end = before.size();
  std::string_view text = before.substr(0, end);
  text.remove_suffix(digits_at_end(text).size());
  if (const std::size_t other = text.rfind("%|"); other != std::string_view::npos) {
    const std::size_t close = text.find(']', other);
    text.remove_prefix(close == std::string_view::npos ? other : close + 1);
  }
  return text;
}

// The last bar of a line. A terminal's edge may cut it behind "<".
bool take_progress_bar(const LogLine& line, LogState& state) {
  const std::string_view text = line.text;
  constexpr int most_tries = 16;
  std::optional<TqdmBar> bar;
  std::size_t open = text.rfind('[');
  for (int tries = 0; tries < most_tries && open != std::string_view::npos; ++tries) {
    bar = bar_at(text, open);
    if (bar || open == 0) break;
    open = text.rfind('[', open - 1);
  }
  if (!bar || !counts_steps(bar->rate)) return false;
  const std::string_view description = description_of_bar(bar->place.before);
  if (const char* const work = other_work(description)) {
    state.note(work);
    return false;
  }
  bar->place.before = description;
  const LogTool& tool = contains(text, "v_num=") ? lightning_log.tool : progress_bar_log.tool;
  LogRecord& record = add_bar(tool, line, bar->place, state);
  record.elapsed_s = bar->elapsed_s;
  record.wall_ns = ns_of_rate(bar->rate);
  return true;
}

// The last word of a text, which is cut off.
std::string_view take_last_word(std::string_view& text) {
  text = trimmed(text);
  const std::size_t blank = text.rfind(' ');
  const std::string_view word = blank == std::string_view::npos ? text : text.substr(blank + 1);
  text.remove_suffix(word.size());
  return word;
}

// "Epoch 0/2 ━━━━━━ 100/938 0:00:02 • 0:00:17 49.55it/s v_num: 0.000 train_loss: 0.512". The rate
// has two decimals: that of slow steps has too few digits, and the time since the begin has more.
bool take_rich_bar(const LogLine& line, LogState& state) {
  constexpr std::string_view dot = "•";
  const std::size_t speed = line.text.find("it/s");
  const std::size_t middle = line.text.find(dot);
  if (speed == std::string_view::npos || middle == std::string_view::npos || middle > speed)
    return false;
  std::string_view behind = line.text.substr(middle + dot.size(), speed - middle - dot.size());
  std::string_view before = line.text.substr(0, middle);
  const auto rate = clean_number(take_last_word(behind));
  const auto elapsed = seconds_of_duration(take_last_word(before));
  const std::string_view place = take_last_word(before);
  const std::size_t slash = place.find('/');
  if (!rate || !elapsed || slash == std::string_view::npos) return false;
  const auto done = clean_integer(place.substr(0, slash));
  const auto total = clean_integer(place.substr(slash + 1));
  if (!done || !total || *done < 1 || *total < *done || *total > most_bar_steps) return false;
  if (const char* const work = other_work(before)) {
    state.note(work);
    return false;
  }
  LogRecord& record =
      add_bar(lightning_log.tool, line, {.before = before, .done = *done, .total = *total}, state);
  record.elapsed_s = *elapsed;
  constexpr double least_rate = 0.2;
  if (*rate >= least_rate && std::isfinite(*rate)) record.wall_ns = 1e9 / *rate;
  if (const auto loss = clean_number_behind(line.text, "train_loss: ", " ")) set_loss(record, loss);
  return true;
}

// "      6/120      11.4G  …  640: 42% ━━━━━─────── 54/128 1.1s/it 1:01<1:22" of newer
// versions of Ultralytics (ultralytics/utils/tqdm.py). The last line of a bar has no time that is
// left, and its rate of one decimal is the mean: the time since the begin has more digits.
bool take_ultralytics_bar(const LogLine& line, LogState& state) {
  constexpr std::array<std::string_view, 3> cells = {"━", "─", "╸"};
  const std::size_t percent_at = line.text.rfind("% ");
  if (percent_at == std::string_view::npos) return false;
  std::string_view before = line.text.substr(0, percent_at);
  before.remove_suffix(digits_at_end(before).size());
  std::string_view text = trimmed(line.text.substr(percent_at + 2));
  if (std::ranges::none_of(cells, [&](std::string_view c) { return text.starts_with(c); }))
    return false;
  text.remove_prefix(std::min(text.find(' '), text.size()));
  const std::string_view clock = take_last_word(text);
  const std::string_view rate = take_last_word(text);
  const std::string_view place = trimmed(text);
  const std::size_t slash = std::min(place.find('/'), place.size());
  const auto done = clean_integer(place.substr(0, slash));
  const auto total = clean_integer(place.substr(std::min(slash + 1, place.size())));
  const auto elapsed = seconds_of_duration(clock.substr(0, clock.find('<')));
  if (!done || !total || *done < 1 || *total < *done || *total > most_bar_steps || !elapsed ||
      !counts_steps(rate))
    return false;
  if (const char* const work = other_work(before)) {
    state.note(work);
    return false;
  }
  LogRecord& record = add_bar(progress_bar_log.tool, line,
                              {.before = before, .done = *done, .total = *total}, state);
  record.elapsed_s = *elapsed;
  if (*done < *total) record.wall_ns = ns_of_rate(rate);
  return true;
}

// "19.0it", "1.23kit" as a count.
std::optional<std::int64_t> bar_count(std::string_view text) {
  const auto value = number_and_unit(text);
  if (!value || !(value->number >= 0)) return std::nullopt;
  double factor = 1;
  if (value->unit == "kit")
    factor = 1e3;
  else if (value->unit == "Mit")
    factor = 1e6;
  else if (value->unit != "it")
    return std::nullopt;
  const double count = std::round(value->number * factor);
  return count <= static_cast<double>(most_bar_steps)
             ? std::optional(static_cast<std::int64_t>(count))
             : std::nullopt;
}

// "Progress on:train 19.0it/70.0it rate:76.8s/it remaining:1:05:15 elapsed:31:40
// postfix:loss=2.31". Older versions print every rate per second, with one decimal: of slow steps
// it says nothing.
bool take_loggable_bar(const LogLine& line, LogState& state) {
  constexpr std::string_view title = "Progress on:";
  const std::string_view text = line.text.substr(line.text.find(title) + title.size());
  const std::size_t rate_at = text.find(" rate:");
  if (rate_at == std::string_view::npos) return false;
  std::string_view before = text.substr(0, rate_at);
  const std::string_view place = take_last_word(before);
  const std::size_t slash = place.find('/');
  const auto done = bar_count(place.substr(0, slash));
  const auto total =
      slash == std::string_view::npos ? std::nullopt : bar_count(place.substr(slash + 1));
  const std::size_t elapsed_at = text.find(" elapsed:");
  if (!done || *done < 1 || elapsed_at == std::string_view::npos) return false;
  const std::string_view clock = text.substr(elapsed_at + 9);
  const auto elapsed = seconds_of_duration(clock.substr(0, clock.find(' ')));
  if (!elapsed) return false;
  if (const char* const work = other_work(before)) {
    state.note(work);
    return false;
  }
  const bool training = trimmed(before) == "train";
  LogRecord& record = add_bar(training ? levanter_log.tool : progress_bar_log.tool, line,
                              {.before = {}, .done = *done, .total = total.value_or(0)}, state);
  record.elapsed_s = *elapsed;
  const auto rate = number_and_unit(text.substr(rate_at + 6, elapsed_at - rate_at - 6));
  constexpr double least = 1;  // one decimal: within 5 %
  if (rate && rate->number >= least && std::isfinite(rate->number)) {
    if (rate->unit.starts_with("s/it")) record.wall_ns = rate->number * 1e9;
    if (rate->unit.starts_with("it/s")) record.wall_ns = 1e9 / rate->number;
  }
  if (const auto loss = clean_number_behind(text, "loss=", " ,")) set_loss(record, loss);
  return true;
}

// The training bar is the one that runs longest, but for bars of other work. Other lines show whose
// bar it is: the Trainer prints dicts, and those without a number are placed by the bar's position;
// Lightning prints v_num in some of its lines.
void settle_bars(JobLog& log) {
  std::int64_t total = 0;
  double longest = -1;
  for (const LogRecord& r : log.records)
    if (r.of_steps > 0 && r.elapsed_s.value_or(0) > longest) {
      longest = *r.elapsed_s;
      total = r.of_steps;
    }
  // What happened before a line of another bar happened before the next line of this one.
  const auto is_other = [&](const LogRecord& r) { return r.of_steps > 0 && r.of_steps != total; };
  bool evaluated = false;
  bool saved = false;
  for (LogRecord& r : log.records) {
    if (r.of_steps == 0) continue;
    r.evaluated = evaluated = evaluated || r.evaluated;
    r.saved = saved = saved || r.saved;
    if (!is_other(r)) evaluated = saved = false;
  }
  const std::size_t others = std::erase_if(log.records, is_other);
  if (others > 0) log.notes["lines_of_other_progress_bars"] += others;
  const LogTool& trainer = hugging_face_log.tool;
  const auto lines_of = [&](const LogTool& tool) -> std::uint64_t& {
    return std::ranges::find(log.tools, &tool, &LogToolLines::tool)->lines;
  };
  const bool of_trainer = lines_of(trainer) > 0;
  if (!of_trainer && lines_of(lightning_log.tool) == 0) return;
  const LogTool& owner = of_trainer ? trainer : lightning_log.tool;
  lines_of(owner) += std::exchange(lines_of(progress_bar_log.tool), 0);
  std::int64_t done = -1;
  for (LogRecord& r : log.records) {
    if (r.tool == &progress_bar_log.tool) r.tool = &owner;
    if (r.tool != &trainer) continue;
    if (r.of_steps > 0) done = r.iteration;
    if (r.iteration < 0) r.iteration = done;
  }
}

// The first cells of a bar, whose end a terminal's edge may cut. Full cells, then one of tenths or
// eighths, then blanks: as letters, or as blocks of Unicode. Words of five letters are as long as
// the shortest of other tools.
constexpr std::size_t cell_words = 3 * 9 + 4 + 8;
constexpr auto first_cells = [] {
  std::array<std::array<char, 5>, cell_words> words{};
  std::size_t n = 0;
  for (int full = 0; full < 3; ++full)
    for (char tenths = '1'; tenths <= '9'; ++tenths) {
      words[n] = {'%', '|', full > 0 ? '#' : tenths,
                  full > 1   ? '#'
                  : full > 0 ? tenths
                             : ' ',
                  full > 1 ? tenths : ' '};
      ++n;
    }
  for (int full = 0; full < 4; ++full)
    words[n++] = {'%', '|', full > 0 ? '#' : ' ', full > 1 ? '#' : ' ', full > 2 ? '#' : ' '};
  for (char eighths = 0; eighths < 8; ++eighths)  // U+2588 to U+258F
    words[n++] = {'%', '|', '\xE2', '\x96', static_cast<char>('\x88' + eighths)};
  return words;
}();

constexpr std::array progress_bar_lines = {
    LogWord{"it/s]", take_progress_bar},  LogWord{"s/it]", take_progress_bar},
    LogWord{"it/s, ", take_progress_bar},  // the text behind it is the program's
    LogWord{"s/it, ", take_progress_bar}, LogWord{" • ", take_rich_bar},
    LogWord{"% ━", take_ultralytics_bar}, LogWord{"% ─", take_ultralytics_bar},
    LogWord{"% ╸", take_ultralytics_bar}, LogWord{"Progress on:", take_loggable_bar}};

constexpr auto progress_bar_words = [] {
  std::array<LogWord, progress_bar_lines.size() + cell_words> words{};
  std::ranges::copy(progress_bar_lines, words.begin());
  for (std::size_t i = 0; i < cell_words; ++i)
    words[progress_bar_lines.size() + i] = {{first_cells[i].data(), first_cells[i].size()},
                                            take_progress_bar};
  return words;
}();

LogSteps lightning_steps(const JobLog& log) { return steps_of_bars(log, lightning_log); }
LogSteps levanter_steps(const JobLog& log) { return steps_of_bars(log, levanter_log); }
LogSteps progress_bar_steps(const JobLog& log) { return steps_of_bars(log, progress_bar_log); }

}  // namespace

const LogDialect lightning_log = {.tool = {.name = "lightning", .label = "Lightning"},
                                  .steps = lightning_steps};

const LogDialect levanter_log = {.tool = {.name = "levanter", .label = "levanter"},
                                 .steps = levanter_steps};

const LogDialect progress_bar_log = {.tool = {.name = "progress_bar", .label = "a progress bar"},
                                     .words = progress_bar_words,
                                     .is_tool = false,
                                     .steps = progress_bar_steps,
                                     .settle = settle_bars};

}  // namespace stepscope
