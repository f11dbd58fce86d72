// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/pattern_offer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/line_blocks.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/log/line_numbers.h"
#include "stepscope/read/log/settled_unit.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {
namespace {

constexpr std::size_t longest_line = 2000;
constexpr std::size_t most_kinds = 256;  // of lines
constexpr std::size_t most_rows = 32;    // of a kind, with their instants
constexpr std::size_t least_lines = 3;

// What the numbers at one place of all lines of a kind have in common.
struct NumberColumn {
  double first = 0;
  double last = 0;
  std::size_t rises = 0;
  std::size_t falls = 0;
  std::size_t equals = 0;
  bool whole = true;
  bool positive = true;
  bool part_of_clock = false;
};

bool is_constant(const NumberColumn& c) { return c.rises == 0 && c.falls == 0; }

// With each line, but for a few restarts.
bool grows(const NumberColumn& c) { return c.rises > 0 && c.equals == 0 && c.falls * 4 <= c.rises; }

// The same for whole numbers with the name of a count, which may restart after few lines.
bool counts(const NumberColumn& c) {
  return c.rises > 0 && c.equals == 0 && c.falls * 2 <= c.rises && c.whole && !c.part_of_clock;
}

struct LineRow {
  std::optional<Ns> instant{};
  std::vector<double> values{};
};

struct RepeatedLine {
  std::size_t lines = 0;
  std::string sample{};
  std::vector<NumberColumn> columns{};
  std::vector<LineRow> rows{};  // the first ones
};

struct StepPlaces {
  std::size_t step = 0;
  std::size_t time = 0;
  TimeUnit unit = TimeUnit::s;
  bool unit_known = false;
  bool several_iterations = false;
  bool of_step = false;  // the instants of the lines or the name of the time say so
  bool running_mean = false;
};

bool names_step(std::string_view line, std::span<const LineNumber> slots, std::size_t i) {
  const std::string name = name_of_number(line, slots, i);
  if (contains(name, "epoch")) return false;
  if (contains_any(name, {"step", "iter", "batch", "update"})) return true;
  const std::string_view before = trimmed(text_before(line, slots, i));
  return before.ends_with('[') && line.substr(slots[i].end).starts_with('/');
}

// A number in front of a report on the loss: "490 | loss 5.1 | 8060.8ms".
bool leads_loss(std::string_view line, const LineNumber& number) {
  const std::string_view behind = trimmed(line.substr(number.end));
  return number.begin == 0 && !behind.empty() &&
         std::string_view("|:,").find(behind.front()) != std::string_view::npos &&
         contains(behind, "loss");
}

bool names_rate(std::string_view name) {
  return contains_any(name, {"/s", "per_s", "per s"}) ||
         has_any_word(name,
                      {"tokens", "token", "tok", "samples", "sample", "images", "imgs", "img",
                       "throughput", "ips", "tps", "fps", "rate", "speed", "flops", "tflops"});
}

// "Batch 0.271": the instants of the lines must say that it is a time.
bool is_step_alone(std::string_view name) {
  const std::size_t begin = name.find_first_not_of(" \t)]");
  const std::size_t end = name.find_last_not_of(" \t=:([");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return false;
  const std::string_view word = name.substr(begin, end + 1 - begin);
  return word == "batch" || word == "iter" || word == "iteration" || word == "step";
}

// How much a column looks like the time of a step; 0: it does not.
int looks_like_time(std::string_view line, std::span<const LineNumber> slots, std::size_t i,
                    StepPlaces& choice) {
  const std::string name = name_of_number(line, slots, i);
  const bool of_steps = contains_any(name, {"step", "iter", "batch"});
  if (names_rate(name) || has_any_word(name, {"eta", "left", "lr", "timestamp"}) ||
      contains_any(name, {"remain", "elapsed", "loss"}) || (contains(name, "total") && !of_steps))
    return 0;
  const auto behind = unit_behind(line.substr(slots[i].end));
  const bool named = contains_any(name, {"time", "took", "duration", "latency"}) ||
                     has_any_word(name, {"dt", "sec", "secs", "seconds", "cost"});
  const auto inside = unit_in_name(name);
  if (!behind && !named && !(inside && contains_any(name, {"step", "iter"}))) return 0;
  choice.unit_known = behind || inside;
  choice.unit = behind ? *behind : inside.value_or(TimeUnit::s);
  int score = (behind ? 4 : 0) + (inside ? 3 : 0) + (named ? 2 : 0);
  if (of_steps) score += 3;
  if (contains_any(name,
                   {"data", "load", "fwd", "forward", "bwd", "backward", "eval", "save", "reader"}))
    score -= 4;
  choice.running_mean = has_any_word(name, {"avg", "average", "mean"});
  return score - (choice.running_mean ? 4 : 0);
}

// Sets the unit where the lines name none and their instants allow one alone.
TimeFit settle(const RepeatedLine& kind, StepPlaces& places) {
  TimesByInstants times;
  for (std::size_t i = 1; i < kind.rows.size(); ++i) {
    const LineRow& before = kind.rows[i - 1];
    const LineRow& row = kind.rows[i];
    if (row.instant && before.instant)
      times.add(*before.instant, *row.instant, row.values[places.step] - before.values[places.step],
                row.values[places.time]);
  }
  const SettledUnit settled = settled_unit(
      times, places.unit_known ? std::optional(places.unit) : std::nullopt, places.unit);
  if (settled.unit) {
    places.unit = *settled.unit;
    places.unit_known = true;
  }
  return settled.fit;
}

// The number that counts the lines.
std::optional<std::size_t> step_place(const RepeatedLine& kind, std::span<const LineNumber> slots) {
  std::optional<std::size_t> step;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!counts(kind.columns[i]) || !names_step(kind.sample, slots, i)) continue;
    if (contains(name_of_number(kind.sample, slots, i), "global")) return i;
    if (!step) step = i;
  }
  if (!step && !slots.empty() && counts(kind.columns[0]) && leads_loss(kind.sample, slots[0]))
    step = 0;
  return step;
}

// Another column that counts with the step's: steps with iterations, or iterations with steps.
std::optional<std::size_t> other_count(const RepeatedLine& kind, std::span<const LineNumber> slots,
                                       std::size_t step) {
  const auto is_iteration = [&](std::size_t i) {
    const std::string name = name_of_number(kind.sample, slots, i);
    return contains_any(name, {"iter", "batch"}) && !contains(name, "step");
  };
  const auto is_step = [&](std::size_t i) {
    return contains(name_of_number(kind.sample, slots, i), "step");
  };
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const NumberColumn& c = kind.columns[i];
    if (i == step || !c.whole || c.part_of_clock || c.rises == 0 || c.falls > 0) continue;
    if (contains(name_of_number(kind.sample, slots, i), "time")) continue;
    if (is_iteration(step) ? is_step(i) : is_step(step) && is_iteration(i)) return i;
  }
  return std::nullopt;
}

// Which of two counts a time belongs to: that of steps if it is named after them, else that of
// iterations, which rises faster where a step has several.
void choose_count(const RepeatedLine& kind, std::span<const LineNumber> slots, std::size_t other,
                  StepPlaces& choice) {
  const auto rise = [&](std::size_t at) { return kind.columns[at].last - kind.columns[at].first; };
  const double difference = rise(other) - rise(choice.step);
  if (difference == 0) return;
  const bool of_step = contains(name_of_number(kind.sample, slots, choice.time), "step");
  if (of_step == (difference < 0)) choice.step = other;
  choice.several_iterations = !of_step;
}

std::optional<StepPlaces> choose(const RepeatedLine& kind, std::span<const LineNumber> slots) {
  const auto step = step_place(kind, slots);
  if (!step) return std::nullopt;
  const auto other = other_count(kind, slots, *step);
  std::optional<StepPlaces> best;
  int most = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const NumberColumn& c = kind.columns[i];
    if (i == *step || i == other || !c.positive || c.part_of_clock) continue;
    StepPlaces choice{.step = *step, .time = i};
    const std::string name = name_of_number(kind.sample, slots, i);
    int score = looks_like_time(kind.sample, slots, i, choice);
    const bool alone = score == 0 && !c.whole && is_step_alone(name);
    if (score <= 0 && !alone) continue;
    if (other) choose_count(kind, slots, *other, choice);
    const TimeFit fit = settle(kind, choice);
    if (fit == TimeFit::of_interval || fit == TimeFit::too_long) continue;
    choice.of_step = fit == TimeFit::of_step || contains_any(name, {"step", "iter", "batch"});
    if (fit == TimeFit::of_step)
      score += 8;
    else if (alone || (grows(c) && !contains_any(name, {"step", "iter", "batch"})))
      continue;  // the time since the begin
    if (score <= most) continue;
    most = score;
    best = choice;
  }
  return best;
}

// The last words of a text, which name a place: at most 24 letters, from the begin of a word.
std::string_view last_words(std::string_view text) {
  constexpr std::size_t most = 24;
  if (text.size() > most) {
    const std::size_t blank = text.find(' ', text.size() - most);
    text.remove_prefix(blank == std::string_view::npos ? text.size() - most : blank);
  }
  const std::size_t bar = text.rfind('|');
  if (bar != std::string_view::npos && !trimmed(text.substr(bar + 1)).empty())
    text.remove_prefix(bar + 1);
  while (!text.empty() && (is_blank(text.front()) || text.front() == ',')) text.remove_prefix(1);
  return text;
}

// The words that name number `i`, behind the number `after`; a number that never changes may be
// among them.
std::string_view words_before(const RepeatedLine& kind, std::span<const LineNumber> slots,
                              std::size_t i, std::optional<std::size_t> after) {
  const std::string_view line = kind.sample;
  std::size_t from = i;
  const auto text = [&] {
    const std::size_t begin = from == 0 ? 0 : slots[from - 1].end;
    return last_words(line.substr(begin, slots[i].begin - begin));
  };
  while (text().empty() && from > 0 && (!after || from - 1 > *after) &&
         is_constant(kind.columns[from - 1]))
    --from;
  return text();
}

bool has_letters(std::string_view text) { return std::ranges::any_of(text, is_letter); }

// The text of a pattern from number `first` to `second`: any text up to the words before `second`.
// Marks alone may also stand between other numbers, so the words of one of those precede them.
std::string words_between(const RepeatedLine& kind, std::span<const LineNumber> slots,
                          std::size_t first, std::size_t second) {
  const std::string words = one_blank(words_before(kind, slots, second, first));
  if (has_letters(words)) return "* " + words;
  for (std::size_t i = second; i > first + 1; --i)
    if (const auto named = words_before(kind, slots, i - 1, first); has_letters(named))
      return "* " + one_blank(named) + "* " + words;
  return "* " + words;
}

// The words before the first place. Lines of other work may share mere marks, as "Epoch(val)
// [1][20/167]" and "Epoch(train) [1][20/333]" do, so words with letters precede marks.
std::string words_at_begin(const RepeatedLine& kind, std::span<const LineNumber> slots,
                           std::size_t first) {
  const std::string words = one_blank(words_before(kind, slots, first, std::nullopt));
  if (has_letters(words)) return words;
  for (std::size_t i = first; i > 0; --i)
    if (const auto named = words_before(kind, slots, i - 1, std::nullopt);
        has_letters(named) && !slots[i - 1].part_of_clock)
      return one_blank(named) + "* " + words;
  return words;
}

// The usual number of steps from line to line.
std::int64_t steps_apart(const RepeatedLine& kind, std::size_t step) {
  std::vector<double> apart;
  for (std::size_t i = 1; i < kind.rows.size(); ++i)
    if (const double n = kind.rows[i].values[step] - kind.rows[i - 1].values[step]; n > 0)
      apart.push_back(n);
  if (apart.empty()) return 1;
  const auto middle = apart.begin() + std::ssize(apart) / 2;
  std::ranges::nth_element(apart, middle);
  return static_cast<std::int64_t>(std::min(*middle, 1e15));
}

std::optional<PatternOffer> offer_of(const RepeatedLine& kind) {
  const std::string_view line = kind.sample;
  const std::vector<LineNumber> slots = numbers_of_line(line);
  const auto choice = choose(kind, slots);
  if (!choice) return std::nullopt;
  const std::size_t first = std::min(choice->step, choice->time);
  const std::size_t second = std::max(choice->step, choice->time);
  const auto place = [&](std::size_t i) {
    return i == choice->step ? std::string("{step}")
                             : '{' + std::string(name_of(choice->unit)) + '}';
  };
  PatternOffer offer{.line = std::string(line),
                     .unit_known = choice->unit_known,
                     .apart = choice->of_step ? 1 : steps_apart(kind, choice->step),
                     .running_mean = choice->running_mean,
                     .several_iterations = choice->several_iterations};
  offer.pattern = words_at_begin(kind, slots, first) + place(first);
  const std::string_view between = text_before(line, slots, second);
  offer.pattern += second == first + 1 && between.size() <= 32
                       ? one_blank(between)
                       : words_between(kind, slots, first, second);
  offer.pattern += place(second);
  const std::string_view behind = line.substr(slots[second].end);
  if (second == choice->time && unit_behind(behind)) {
    const std::size_t blank = behind.starts_with(' ') ? 1 : 0;
    offer.pattern += behind.substr(0, blank + letters_of(behind.substr(blank)).size());
  }
  const auto pattern = parse_line_pattern(offer.pattern);
  if (!pattern) return std::nullopt;
  const auto match = match_line(*pattern, line);
  if (!match || static_cast<double>(match->step) != slots[choice->step].value ||
      match->wall_ns != slots[choice->time].value * ns_per(choice->unit))
    return std::nullopt;
  offer.read = *match;
  return offer;
}

// Whether the instants of the lines do not go back, and are not all the same.
bool has_instants(const RepeatedLine& kind) {
  for (std::size_t i = 0; i < kind.rows.size(); ++i)
    if (!kind.rows[i].instant || (i > 0 && *kind.rows[i].instant < *kind.rows[i - 1].instant))
      return false;
  return !kind.rows.empty() && *kind.rows.front().instant < *kind.rows.back().instant;
}

// "Step 25, total used time 7.178 (s)": the time since the begin.
bool is_elapsed(const RepeatedLine& kind, std::span<const LineNumber> slots, std::size_t i) {
  const std::string name = name_of_number(kind.sample, slots, i);
  const NumberColumn& c = kind.columns[i];
  return grows(c) && c.last >= 2 * c.first && !c.part_of_clock && !names_rate(name) &&
         contains_any(name, {"time", "elapsed"}) && !has_any_word(name, {"eta", "left"});
}

// Lines with a number that counts them and no time of a step: two of them give it.
std::optional<PatternOffer> offer_of_two_lines(const RepeatedLine& kind) {
  const std::vector<LineNumber> slots = numbers_of_line(kind.sample);
  const auto step = step_place(kind, slots);
  if (!step) return std::nullopt;
  PatternOffer offer{.line = kind.sample, .by = TimedBy::stamps};
  const std::string words = words_at_begin(kind, slots, *step);
  if (!has_letters(words)) return std::nullopt;
  offer.pattern = words + "{step}";
  for (std::size_t i = *step + 1; i < slots.size(); ++i) {
    if (!is_elapsed(kind, slots, i)) continue;
    const auto behind = unit_behind(std::string_view(kind.sample).substr(slots[i].end));
    const auto unit = behind ? behind : unit_in_name(name_of_number(kind.sample, slots, i));
    offer.pattern += words_between(kind, slots, *step, i) + "{elapsed " +
                     std::string(name_of(unit.value_or(TimeUnit::s))) + '}';
    offer.unit_known = unit.has_value();
    offer.by = TimedBy::elapsed;
    break;
  }
  if (offer.by == TimedBy::stamps && !has_instants(kind)) return std::nullopt;
  const auto pattern = parse_line_pattern(offer.pattern);
  const auto match = pattern ? match_line(*pattern, kind.sample) : std::nullopt;
  if (!match || static_cast<double>(match->step) != slots[*step].value) return std::nullopt;
  offer.read = *match;
  return offer;
}

class RepeatedLines {
 public:
  void take(std::string_view text) {
    const std::string_view line = trimmed(without_colours(text, room_));
    if (line.empty() || line.size() > longest_line) return;
    const std::vector<LineNumber> slots = numbers_of_line(line);
    if (slots.size() < 2) return;
    std::string key = kind_of_line(line, slots);
    auto found = kinds_.find(key);
    if (found == kinds_.end()) {
      if (kinds_.size() == most_kinds) return;
      found = kinds_.emplace(std::move(key), RepeatedLine{}).first;
      found->second.columns.resize(slots.size());
    }
    add(line, slots, found->second);
  }

  [[nodiscard]] std::optional<PatternOffer> offer() const {
    std::vector<const RepeatedLine*> ordered;
    for (const auto& [key, kind] : kinds_)
      if (kind.lines >= least_lines) ordered.push_back(&kind);
    std::ranges::stable_sort(ordered, std::ranges::greater{}, &RepeatedLine::lines);
    for (const RepeatedLine* kind : ordered)
      if (auto offer = offer_of(*kind)) return offer;
    for (const RepeatedLine* kind : ordered)
      if (auto offer = offer_of_two_lines(*kind)) return offer;
    return std::nullopt;
  }

 private:
  static void add(std::string_view line, std::span<const LineNumber> slots, RepeatedLine& kind) {
    if (line == kind.sample) return;  // of another process
    LineRow row;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      NumberColumn& c = kind.columns[i];
      const double value = slots[i].value;
      if (kind.lines == 0) c.first = value;
      if (kind.lines > 0) ++(value > c.last ? c.rises : value < c.last ? c.falls : c.equals);
      c.last = value;
      c.whole = c.whole && slots[i].whole;
      c.positive = c.positive && value > 0;
      c.part_of_clock = c.part_of_clock || slots[i].part_of_clock;
      row.values.push_back(value);
    }
    if (kind.rows.size() < most_rows) {
      row.instant = instant_of_line(line);
      kind.rows.push_back(std::move(row));
    }
    kind.sample = line;
    ++kind.lines;
  }

  std::map<std::string, RepeatedLine> kinds_;
  std::string room_;
};

void take_lines(std::string_view text, RepeatedLines& kinds) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    kinds.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

constexpr std::size_t most_bytes = 64 << 20;

}  // namespace

std::optional<PatternOffer> offer_pattern(std::string_view text) {
  RepeatedLines kinds;
  take_lines(text.substr(0, most_bytes), kinds);
  return kinds.offer();
}

std::optional<PatternOffer> offer_pattern(ByteSource& source) {
  RepeatedLines kinds;
  std::size_t taken = 0;
  const auto take = [&](std::string_view block) -> Result<Done> {
    take_lines(block, kinds);
    taken += block.size();
    if (taken > most_bytes) return Error{.what = "is long enough"};
    return Done{};
  };
  // What was read until an end or a fault is enough.
  [[maybe_unused]] const auto bytes = for_line_blocks(source, "\r\n", take);
  return kinds.offer();
}

std::string in_words(const PatternOffer& offer) {
  constexpr std::size_t longest_shown = 100;
  std::string line = offer.line.substr(0, longest_shown);
  std::ranges::replace(line, '\t', ' ');
  if (offer.line.size() > longest_shown) line += "…";
  std::string ms = std::to_string(offer.read.wall_ns / 1e6);
  ms.erase(ms.find_last_not_of('0') + 1);
  if (ms.ends_with('.')) ms.pop_back();
  const char quote = offer.pattern.find('\'') == std::string::npos ? '\'' : '"';
  const std::string_view what = offer.several_iterations ? "iteration " : "step ";
  const std::string reads =
      "the line \"" + line + "\" reads as " + std::string(what) + std::to_string(offer.read.step);
  const std::string give =
      ": give --log-pattern " + (quote + offer.pattern) + quote + " to confirm";
  if (offer.by != TimedBy::line)
    return reads +
           (offer.by == TimedBy::stamps ? ", whose time is that between the stamps of two lines"
                                        : ", whose time is the difference of the time since the "
                                          "begin") +
           (offer.unit_known ? "" : ", if that is in seconds") + give;
  return reads + " in " + ms + " ms" + (offer.unit_known ? "" : ", if its time is in seconds") +
         (offer.apart > 1
              ? ", or is of all " + std::to_string(offer.apart) + " steps since the line before"
              : "") +
         (offer.running_mean ? ", and may be the mean of all steps so far" : "") +
         (offer.several_iterations ? ", and a step has several iterations" : "") + give;
}

}  // namespace stepscope
