// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/pattern_offer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/line_blocks.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/log/log_line.h"
#include "stepscope/read/log/nccl_line.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {
namespace {

constexpr std::size_t longest_line = 400;
constexpr std::size_t most_kinds = 256;  // of lines
constexpr std::size_t most_slots = 24;   // numbers of a line
constexpr std::size_t least_lines = 3;

// A number in a line.
struct LineNumber {
  std::size_t begin = 0;
  std::size_t end = 0;
  double value = 0;
  bool whole = false;
  bool part_of_clock = false;  // of a date, a clock time, an address or a version
};

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

char at_or_blank(std::string_view text, std::size_t at) {
  return at < text.size() ? text[at] : ' ';
}

// Whether c joins two numbers to something else: "12:30", "2026-01-02", "10.0.0.1".
bool joins(std::string_view line, std::size_t at) {
  const char c = at_or_blank(line, at);
  return (c == ':' || c == '-' || c == '.') && at > 0 && is_digit(line[at - 1]) &&
         is_digit(at_or_blank(line, at + 1));
}

std::vector<LineNumber> slots_of(std::string_view line) {
  std::vector<LineNumber> slots;
  std::size_t at = 0;
  while (at < line.size() && slots.size() < most_slots) {
    if (!is_digit(line[at]) || (at > 0 && is_name_letter(line[at - 1]))) {
      ++at;
      continue;
    }
    std::string_view rest = line.substr(at);
    const auto value = take_number<double>(rest);
    if (!value) {
      ++at;
      continue;
    }
    LineNumber slot{.begin = at, .end = line.size() - rest.size(), .value = *value};
    const std::string_view text = line.substr(slot.begin, slot.end - slot.begin);
    slot.whole = std::ranges::all_of(text, is_digit) && text.size() < 16;
    slot.part_of_clock = joins(line, slot.end) || (slot.begin > 0 && joins(line, slot.begin - 1));
    slots.push_back(slot);
    at = std::max(slot.end, at + 1);
  }
  return slots;
}

std::string lower_text(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

// The unit within a name: "step_ms=", "time (s): ".
std::optional<TimeUnit> unit_in_name(std::string_view name) {
  if (contains_any(name, {"_ms", "(ms)", "ms:", "msec"})) return TimeUnit::ms;
  if (contains_any(name, {"_us", "(us)"})) return TimeUnit::us;
  if (contains_any(name, {"_ns", "(ns)"})) return TimeUnit::ns;
  if (contains_any(name, {"_s ", "_s=", "_s:", "(s)", "sec"})) return TimeUnit::s;
  return std::nullopt;
}

// What the numbers at one place of all lines of a kind have in common.
struct NumberColumn {
  double last = 0;
  bool constant = true;
  bool grows = true;  // with each line
  bool whole = true;
  bool positive = true;
  bool part_of_clock = false;
};

struct RepeatedLine {
  std::size_t lines = 0;
  std::string sample{};
  std::vector<NumberColumn> columns{};
};

struct StepPlaces {
  std::size_t step = 0;
  std::size_t time = 0;
  TimeUnit unit = TimeUnit::s;
  bool unit_known = false;
};

std::string_view text_before(std::string_view line, std::span<const LineNumber> slots,
                             std::size_t i) {
  const std::size_t from = i == 0 ? 0 : slots[i - 1].end;
  return line.substr(from, slots[i].begin - from);
}

bool names_step(std::string_view line, std::span<const LineNumber> slots, std::size_t i) {
  const std::string name = lower_text(text_before(line, slots, i));
  if (contains_any(name, {"step", "iter", "batch", "update"})) return true;
  return name.ends_with('[') && at_or_blank(line, slots[i].end) == '/';
}

// How much a column looks like the time of a step; 0: it does not.
int looks_like_time(std::string_view line, std::span<const LineNumber> slots, std::size_t i,
                    StepPlaces& choice) {
  const std::string name = lower_text(text_before(line, slots, i));
  if (contains_any(name, {"eta", "remain", "left", "elapsed", "total", "lr", "loss"})) return 0;
  const auto behind = unit_behind(line.substr(slots[i].end));
  const bool named = contains_any(name, {"time", "took", "dt", "duration", "latency", "sec"});
  const auto inside = unit_in_name(name);
  if (!behind && !named && !(inside && contains_any(name, {"step", "iter"}))) return 0;
  choice.unit_known = behind || inside;
  choice.unit = behind ? *behind : inside.value_or(TimeUnit::s);
  int score = (behind ? 4 : 0) + (inside ? 3 : 0) + (named ? 2 : 0);
  if (contains_any(name, {"step", "iter", "batch"})) score += 3;
  if (contains_any(name, {"data", "load", "fwd", "forward", "bwd", "backward", "eval", "save"}))
    score -= 4;
  return score;
}

std::optional<StepPlaces> choose(const RepeatedLine& kind, std::span<const LineNumber> slots) {
  std::optional<std::size_t> step;
  for (std::size_t i = 0; i < slots.size() && !step; ++i) {
    const NumberColumn& c = kind.columns[i];
    if (c.grows && c.whole && !c.part_of_clock && names_step(kind.sample, slots, i)) step = i;
  }
  if (!step) return std::nullopt;
  std::optional<StepPlaces> best;
  int most = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const NumberColumn& c = kind.columns[i];
    if (i == *step || c.grows || !c.positive || c.part_of_clock) continue;
    StepPlaces choice{.step = *step, .time = i};
    const int score = looks_like_time(kind.sample, slots, i, choice);
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
  if (bar != std::string_view::npos && bar + 1 < text.size()) text.remove_prefix(bar + 1);
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
         kind.columns[from - 1].constant)
    --from;
  return text();
}

std::string one_blank(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (!is_blank(c) || out.empty() || out.back() != ' ') out += is_blank(c) ? ' ' : c;
  return out;
}

std::optional<PatternOffer> offer_of(const RepeatedLine& kind) {
  const std::string_view line = kind.sample;
  const std::vector<LineNumber> slots = slots_of(line);
  const auto choice = choose(kind, slots);
  if (!choice) return std::nullopt;
  const std::size_t first = std::min(choice->step, choice->time);
  const std::size_t second = std::max(choice->step, choice->time);
  const auto place = [&](std::size_t i) {
    return i == choice->step ? std::string("{step}")
                             : '{' + std::string(name_of(choice->unit)) + '}';
  };
  PatternOffer offer{.line = std::string(line), .unit_known = choice->unit_known};
  offer.pattern = one_blank(words_before(kind, slots, first, std::nullopt)) + place(first);
  const std::string_view between = text_before(line, slots, second);
  offer.pattern += second == first + 1 && between.size() <= 32
                       ? one_blank(between)
                       : "* " + one_blank(words_before(kind, slots, second, first));
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

class RepeatedLines {
 public:
  void take(std::string_view text) {
    const std::string_view line = trimmed(without_colours(text, room_));
    if (line.empty() || line.size() > longest_line) return;
    const std::vector<LineNumber> slots = slots_of(line);
    if (slots.size() < 2) return;
    std::string key;
    std::size_t from = 0;
    for (const LineNumber& slot : slots) {
      key += one_blank(line.substr(from, slot.begin - from));
      key += '#';
      from = slot.end;
    }
    key += one_blank(line.substr(from));
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
    return std::nullopt;
  }

 private:
  static void add(std::string_view line, std::span<const LineNumber> slots, RepeatedLine& kind) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      NumberColumn& c = kind.columns[i];
      if (kind.lines > 0 && !(slots[i].value > c.last)) c.grows = false;
      if (kind.lines > 0 && slots[i].value != c.last) c.constant = false;
      c.last = slots[i].value;
      c.whole = c.whole && slots[i].whole;
      c.positive = c.positive && slots[i].value > 0;
      c.part_of_clock = c.part_of_clock || slots[i].part_of_clock;
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
  if (offer.line.size() > longest_shown) line += "…";
  std::string ms = std::to_string(offer.read.wall_ns / 1e6);
  ms.erase(ms.find_last_not_of('0') + 1);
  if (ms.ends_with('.')) ms.pop_back();
  const char quote = offer.pattern.find('\'') == std::string::npos ? '\'' : '"';
  return "the line \"" + line + "\" reads as step " + std::to_string(offer.read.step) + " in " +
         ms + " ms" + (offer.unit_known ? "" : ", if its time is in seconds") +
         ": give --log-pattern " + quote + offer.pattern + quote + " to confirm";
}

}  // namespace stepscope
