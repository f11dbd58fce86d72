// SPDX-License-Identifier: Apache-2.0
// What the command line knows about the person before it: a terminal or not, colour or not, Ctrl-C,
// progress.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "stepscope/base/stop.h"
#include "stepscope/face/text/text_options.h"

namespace stepscope {

[[nodiscard]] bool wants_colour();   // standard output is a terminal and NO_COLOR is unset
[[nodiscard]] int terminal_width();  // columns of standard output; 100 where it is no terminal
[[nodiscard]] std::size_t terminal_height();  // lines of standard output; 24 without a terminal
[[nodiscard]] std::size_t help_width();  // the same for help: at most 100, 80 without a terminal

// --quiet: from now on no text and no progress, only files, JSON and errors.
void be_quiet();
[[nodiscard]] bool is_quiet();

// The width and colour of this terminal; `details`: the page that says more, or empty.
[[nodiscard]] TextOptions text_options(std::string details = {});

// What a process does that still works a while after it was asked to stop.
enum class WhenSlow : std::uint8_t {
  ends,     // wherever it is, with exit code 130; nothing of temporary files stays
  finishes  // what it has begun, such as a checkpoint
};

// From now on Ctrl-C and SIGTERM request a stop instead of killing; the second one kills. A file
// that reaches the size limit of the process is an error of its writer.
const StopFlag& stop_on_signals(WhenSlow when_slow = WhenSlow::ends);
// The flag that they set.
[[nodiscard]] const StopFlag& stop_flag();

// A line on standard error of a run that is to go on where it cannot be written: a full disk.
template <class... Values>
void say(fmt::format_string<Values...> format, const Values&... values) {
  const std::string line = fmt::vformat(format, fmt::make_format_args(values...));
  std::fputs(line.c_str(), stderr);
}

// A line on standard error that is drawn over: only on a terminal, and only after the first second.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  // As Progress::show.
  void show(std::string_view what, std::uint64_t done, std::uint64_t total);

 private:
  std::mutex drawing_;
  std::string what_;
  double begin_ = 0;
  double part_begin_ = 0;  // of what_
  double drawn_at_ = 0;
  bool terminal_ = false;
  bool drawn_ = false;
};

}  // namespace stepscope
