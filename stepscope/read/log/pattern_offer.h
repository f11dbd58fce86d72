// SPDX-License-Identifier: Apache-2.0
// Lines of an unknown program that look like reports on steps, as a pattern that a user may confirm
// (line_pattern.h): they repeat, one of their numbers grows with each, and one has the unit or the
// name of a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/read/log/line_pattern.h"

namespace stepscope {

// What gives the time of a step: a number of the line, or two lines by the time since the begin
// that they print, or by their stamps.
enum class TimedBy : std::uint8_t { line, elapsed, stamps };

struct PatternOffer {
  std::string pattern{};
  std::string line{};  // one that it reads, without blanks at its ends
  LineMatch read{};
  TimedBy by = TimedBy::line;
  bool unit_known = true;           // false: the time has no unit, and seconds are assumed
  std::int64_t apart = 1;           // steps from line to line, if the time may be of all of them
  bool running_mean = false;        // by its name, the time may be a mean of all steps so far
  bool several_iterations = false;  // the time is that of an iteration, and a step has several
};

// Memory is bounded, and at most 64 MiB are read. Absent if nothing looks like steps.
[[nodiscard]] std::optional<PatternOffer> offer_pattern(std::string_view text);
[[nodiscard]] std::optional<PatternOffer> offer_pattern(ByteSource& source);

// "the line 'it 3 took 412ms' reads as step 3 in 412 ms; give --log-pattern 'it {step} took {ms}ms'
// to confirm".
[[nodiscard]] std::string in_words(const PatternOffer& offer);

}  // namespace stepscope
