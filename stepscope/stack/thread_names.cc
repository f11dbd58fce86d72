// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/thread_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace stepscope {
namespace {

bool digits(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return isdigit(c) != 0; });
}

// "python", "python3", "python3.11": the kernel's name of a Python process.
bool is_python(std::string_view text) {
  constexpr std::string_view name = "python";
  if (!text.starts_with(name)) return false;
  return std::ranges::all_of(text.substr(name.size()),
                             [](unsigned char c) { return isdigit(c) != 0 || c == '.'; });
}

// "comm-123" and "comm-123/124" from stackcollapse-perf --pid and --tid.
FrameRole numbered_command(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return FrameRole::function;
  const std::string_view numbers = text.substr(dash + 1);
  const std::size_t slash = numbers.find('/');
  if (slash == std::string_view::npos)
    return numbers.size() >= 2 && digits(numbers) ? FrameRole::process : FrameRole::function;
  return (digits(numbers.substr(0, slash)) || numbers.starts_with('?')) &&
                 digits(numbers.substr(slash + 1))
             ? FrameRole::thread
             : FrameRole::function;
}

}  // namespace

FrameRole role_of(std::string_view frame) {
  using enum FrameRole;
  static constexpr std::array<std::string_view, 9> thread_beginnings = {
      "thread (", "Thread 0x",     "Thread-",        "pt_autograd", "pt_data_",
      "pt_nccl_", "NCCL Progress", "cuda-EvtHandlr", "pt_elastic"};
  if (frame.starts_with("process ") && frame.size() > 8 && digits(frame.substr(8, 1)))
    return process;
  if (frame.size() > 1 && frame[0] == 'P' && digits(frame.substr(1))) return process;
  if (is_python(frame)) return process;
  if (frame == "MainThread" || frame == "pt_main_thread") return thread;
  if (frame.size() > 1 && frame[0] == 'T' && frame.find(':') != std::string_view::npos) {
    const std::size_t colon = frame.find(':');
    if (digits(frame.substr(1, colon - 1)) && digits(frame.substr(colon + 1))) return thread;
  }
  if (frame.size() > 1 && frame[0] == 'T' && digits(frame.substr(1))) return thread;
  if (std::ranges::any_of(thread_beginnings, [&](auto b) { return frame.starts_with(b); }))
    return thread;
  return numbered_command(frame);
}

}  // namespace stepscope
