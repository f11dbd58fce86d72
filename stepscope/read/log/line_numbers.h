// SPDX-License-Identifier: Apache-2.0
// The numbers in a line of a log, and what names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

// A number in a line, with its sign.
struct LineNumber {
  std::size_t begin = 0;
  std::size_t end = 0;
  double value = 0;
  bool whole = false;
  bool part_of_clock = false;  // of a date, a clock time, an address or a version
};
// The first ones of a line.
[[nodiscard]] std::vector<LineNumber> numbers_of_line(std::string_view line);

// What lines of one kind share: the text around their numbers. Padding and signs are of the number.
[[nodiscard]] std::string kind_of_line(std::string_view line, std::span<const LineNumber> numbers);

// The text in front of number `i`, from the number before.
[[nodiscard]] std::string_view text_before(std::string_view line,
                                           std::span<const LineNumber> numbers, std::size_t i);
// The name in that text, in small letters: without a unit of the number before and without what
// commas, bars or several blanks separate.
[[nodiscard]] std::string name_of_number(std::string_view line, std::span<const LineNumber> numbers,
                                         std::size_t i);
// Whether one of the words is in a name. "_" separates words.
[[nodiscard]] bool has_any_word(std::string_view name,
                                std::initializer_list<std::string_view> words);
// The unit within a name: "step_ms=", "time (s): ".
[[nodiscard]] std::optional<TimeUnit> unit_in_name(std::string_view name);

// The instant of a line: its time stamp, or the clock time near its begin.
[[nodiscard]] std::optional<Ns> instant_of_line(std::string_view line);

// The number of the step that a line reports on: "step 12", "iter: 12/500", "\"global_step\": 12".
// Its name begins a word that is no part of a source's place ("trainer:after_iter:238"). -1 without
// a number.
[[nodiscard]] std::int64_t number_of_step(std::string_view line);

// With one blank for several.
[[nodiscard]] std::string one_blank(std::string_view text);

}  // namespace stepscope
