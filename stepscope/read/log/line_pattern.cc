// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/line_pattern.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/base/ascii.h"
#include "stepscope/read/log/log_line.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {
namespace {

Error wrong_pattern(std::string what) {
  return {.what = "the pattern " + std::move(what),
          .hint =
              "write the text of a line with {ms} or {s} for the step's time and {step} for its "
              "number, and * for other text: 'iter {step}: * took {ms} ms'"};
}

std::optional<PatternPiece> place_named(std::string_view name) {
  if (name == "step") return PatternPiece{.place = PatternPlace::step};
  if (name == "loss") return PatternPiece{.place = PatternPlace::loss};
  if (name == "tokens/s") return PatternPiece{.place = PatternPlace::tokens};
  constexpr std::string_view elapsed = "elapsed ";
  const bool since_begin = name.starts_with(elapsed);
  if (since_begin) name.remove_prefix(elapsed.size());
  if (const auto unit = time_unit(name))
    return PatternPiece{.place = since_begin ? PatternPlace::elapsed : PatternPlace::time,
                        .unit_ns = ns_per(*unit)};
  return std::nullopt;
}

std::string_view from_text(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// Cuts `literal` off the front of `text`; blanks of both may differ in number.
bool take_literal(std::string_view& text, std::string_view literal) {
  std::string_view rest = text;
  while (!literal.empty()) {
    if (is_blank(literal.front())) {
      literal = from_text(literal);
      rest = from_text(rest);
      continue;
    }
    if (!literal.empty() && !rest.empty() && is_blank(rest.front())) return false;
    if (rest.empty() || rest.front() != literal.front()) return false;
    rest.remove_prefix(1);
    literal.remove_prefix(1);
  }
  text = rest;
  return true;
}

// Cuts off everything up to the literal and the literal. Its first word is searched.
bool find_literal(std::string_view& text, std::string_view literal) {
  const std::string_view words = from_text(literal);
  const std::string_view word = words.substr(0, words.find_first_of(" \t"));
  constexpr int most_tries = 64;
  std::size_t at = text.find(word);
  for (int tries = 0; at != std::string_view::npos && tries < most_tries; ++tries) {
    std::string_view rest = text.substr(at);
    if (take_literal(rest, words)) {
      text = rest;
      return true;
    }
    at = text.find(word, at + 1);
  }
  return false;
}

std::optional<double> take_pattern_number(std::string_view& text) {
  std::string_view rest = from_text(text);
  constexpr std::array<std::string_view, 3> names = {"nan", "inf", "-inf"};
  for (const std::string_view name : names)
    if (rest.starts_with(name)) {
      text = rest.substr(name.size());
      return clean_number(name);
    }
  std::size_t size = 0;
  while (size < rest.size() && (is_digit(rest[size]) || contains("+-.,eE", rest.substr(size, 1))))
    ++size;
  while (size > 0 && !is_digit(rest[size - 1])) --size;  // "0.5," and "10e"
  const auto value = clean_number(rest.substr(0, size));
  if (value) text = rest.substr(size);
  return value;
}

bool take_place(const PatternPiece& piece, std::string_view& text, LineMatch& match) {
  const auto value = take_pattern_number(text);
  if (!value) return false;
  switch (piece.place) {
    case PatternPlace::step:
      if (!(*value >= 0 && *value < 1e15) || *value != std::floor(*value)) return false;
      match.step = static_cast<std::int64_t>(*value);
      return true;
    case PatternPlace::time:
      match.wall_ns = *value * piece.unit_ns;
      return is_step(match.wall_ns);
    case PatternPlace::elapsed:
      match.elapsed_ns = *value * piece.unit_ns;
      return std::isfinite(*match.elapsed_ns) && *match.elapsed_ns >= 0;
    case PatternPlace::loss:
      match.loss = *value;
      return true;
    case PatternPlace::tokens:
      match.tokens_per_s = *value;
      return true;
    case PatternPlace::text:
    case PatternPlace::any:
      break;
  }
  return false;
}

// From the begin of `text`; `found` says that the first piece was cut off already.
std::optional<LineMatch> match_from(const LinePattern& pattern, std::string_view text, bool found) {
  LineMatch match;
  bool anywhere = false;
  for (std::size_t i = found ? 1 : 0; i < pattern.pieces.size(); ++i) {
    const PatternPiece& piece = pattern.pieces[i];
    bool ok = true;
    if (piece.place == PatternPlace::any)
      anywhere = true;
    else if (piece.place != PatternPlace::text)
      ok = take_place(piece, text, match);
    else
      ok = std::exchange(anywhere, false) ? find_literal(text, piece.text)
                                          : take_literal(text, piece.text);
    if (!ok) return std::nullopt;
  }
  return match;
}

}  // namespace

Result<LinePattern> parse_line_pattern(std::string_view text) {
  LinePattern pattern;
  bool times = false;
  const auto last_is = [&](PatternPlace place) {
    return !pattern.pieces.empty() && pattern.pieces.back().place == place;
  };
  while (!text.empty()) {
    if (text.front() == '*') {
      if (!last_is(PatternPlace::any)) pattern.pieces.push_back({.place = PatternPlace::any});
      text.remove_prefix(1);
      continue;
    }
    if (text.front() != '{') {
      const std::string_view literal = text.substr(0, text.find_first_of("{*"));
      text.remove_prefix(literal.size());
      if (trimmed(literal).empty()) continue;  // numbers skip blanks
      pattern.pieces.push_back({.text = std::string(literal)});
      continue;
    }
    const std::size_t end = text.find('}');
    if (end == std::string_view::npos) return wrong_pattern("has a { without }");
    const auto piece = place_named(text.substr(1, end - 1));
    if (!piece)
      return wrong_pattern("has a place {" + std::string(text.substr(1, end - 1)) +
                           "}, which is none of step, s, ms, us, ns, elapsed s, loss and tokens/s");
    if (last_is(PatternPlace::any)) return wrong_pattern("has no words between * and a place");
    if (!pattern.pieces.empty() && !last_is(PatternPlace::text))
      return wrong_pattern("has no text between two places");
    times = times || piece->place == PatternPlace::time || piece->place == PatternPlace::elapsed ||
            piece->place == PatternPlace::step;
    pattern.pieces.push_back(*piece);
    text.remove_prefix(end + 1);
  }
  if (last_is(PatternPlace::any)) pattern.pieces.pop_back();
  if (!times) return wrong_pattern("has no place for the step's time or number");
  return pattern;
}

std::optional<LineMatch> match_line(const LinePattern& pattern, std::string_view line) {
  if (pattern.pieces.empty()) return std::nullopt;
  const PatternPiece& first = pattern.pieces.front();
  if (first.place == PatternPlace::any || first.place != PatternPlace::text)
    return match_from(pattern, from_text(line), false);
  constexpr int most_tries = 8;
  std::string_view rest = line;
  for (int tries = 0; tries < most_tries && find_literal(rest, first.text); ++tries)
    if (const auto match = match_from(pattern, rest, true)) return match;
  return std::nullopt;
}

}  // namespace stepscope
