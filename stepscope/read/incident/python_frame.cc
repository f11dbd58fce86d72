// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/python_frame.h"

#include <algorithm>
#include <cstdint>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

struct PythonFrame {
  std::string file{};  // with slashes, also of Windows
  std::int64_t line = 0;
  std::string_view behind{};  // ", in f", " in f"
};

std::optional<PythonFrame> python_frame(std::string_view text) {
  const auto rest = behind(text, "File \"");
  if (!rest) return std::nullopt;
  const std::size_t quote = rest->find('"');
  if (quote == std::string_view::npos) return std::nullopt;
  std::string_view after = rest->substr(quote);
  constexpr std::string_view key = "\", line ";
  if (!after.starts_with(key)) return std::nullopt;
  after.remove_prefix(key.size());
  const auto number = take_number<std::int64_t>(after);
  if (!number) return std::nullopt;
  PythonFrame out{.file = std::string(rest->substr(0, quote)), .line = *number, .behind = after};
  std::ranges::replace(out.file, '\\', '/');
  return out;
}

std::string place_in_words(const PythonFrame& frame) {
  return frame.file.substr(frame.file.rfind('/') + 1).substr(0, 100) + ":" +
         std::to_string(frame.line);
}

}  // namespace

bool is_python_frame(std::string_view text) { return python_frame(text).has_value(); }

std::optional<std::string> frame_place(std::string_view text) {
  const auto frame = python_frame(text);
  if (!frame) return std::nullopt;
  // Windows has the standard library in lib/ itself.
  if (contains_any(frame->file, {"-packages/", "/lib/python", "<frozen", "/torch/",
                                 "/lib/multiprocessing/", "/Lib/multiprocessing/"}))
    return std::nullopt;
  return place_in_words(*frame);
}

std::optional<std::string> faulthandler_place(std::string_view text) {
  const auto frame = python_frame(text);
  constexpr std::string_view in = " in ";
  if (!frame || !frame->behind.starts_with(in)) return std::nullopt;
  return std::string(trimmed(frame->behind.substr(in.size())).substr(0, 100)) + " (" +
         place_in_words(*frame) + ")";
}

}  // namespace stepscope
