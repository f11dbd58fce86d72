// SPDX-License-Identifier: Apache-2.0
// A pattern for the lines of a program that no dialect knows: text with places for its numbers.
//
//   'iter {step}: loss {loss}, * took {ms} ms'
//
//   {step}                  a whole number; without it steps are unnumbered
//   {s} {ms} {us} {ns}      the step's time
//   {elapsed s} …           the time since the begin: a step has the difference of two lines
//   {loss} {tokens/s}       also kept
//   *                       any text up to the next words; text must follow it
//   blanks                  any number of blanks
//
// One of the times must be there, or {step}, whose time is then that between the stamps of two
// lines. The pattern may begin anywhere in a line, unless it begins with a place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

enum class PatternPlace : std::uint8_t { text, any, step, time, elapsed, loss, tokens };

struct PatternPiece {
  PatternPlace place = PatternPlace::text;
  std::string text{};  // of text
  double unit_ns = 1;  // of a time
};

struct LinePattern {
  std::vector<PatternPiece> pieces{};
};

// Errors say what is wrong with the pattern.
[[nodiscard]] Result<LinePattern> parse_line_pattern(std::string_view text);

struct LineMatch {
  std::int64_t step = -1;
  double wall_ns = 0;  // positive and finite; 0 without a place for it
  std::optional<double> elapsed_ns{};
  std::optional<double> loss{};
  std::optional<double> tokens_per_s{};
};
// Linear in the line.
[[nodiscard]] std::optional<LineMatch> match_line(const LinePattern& pattern,
                                                  std::string_view line);

}  // namespace stepscope
