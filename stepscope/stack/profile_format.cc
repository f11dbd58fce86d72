// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/profile_format.h"

#include <array>

namespace stepscope {

bool is_json(std::string_view head) {
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && (head[begin] == '{' || head[begin] == '[');
}

std::span<const ProfileFormat> profile_formats() {
#define STEPSCOPE_ROW(format) ProfileFormat{#format, is_##format, read_##format},
  static constexpr std::array all = {STEPSCOPE_PROFILE_FORMATS(STEPSCOPE_ROW)};
#undef STEPSCOPE_ROW
  return all;
}

std::string what_it_is(std::string_view head) {
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  if (is_json(head)) {
    if (has("\"traceEvents\"") || has("\"ph\""))
      return "is a Chrome trace, not a profile of stacks; stepscope analyze reads traces of "
             "PyTorch";
    if (has("\"gc_samples\"") || has("\"missed_samples\""))
      return "is a stackprof dump (Ruby); speedscope reads it and exports what stepscope reads";
    if (has("\"stackTable\"") || has("\"funcTable\""))
      return "is a Firefox profile; speedscope reads it and exports what stepscope reads";
    return "is JSON, and not speedscope's; export it from speedscope, or record with py-spy record "
           "-f speedscope";
  }
  if (has("<svg"))
    return "is a picture of a flame graph; give the profile that it was drawn from (py-spy record "
           "-f raw or -f speedscope)";
  if (head.starts_with("PERFILE"))
    return "is perf.data, which only perf of the same machine reads; give the output of perf "
           "script";
  if (has(std::string_view("\0", 1)))
    return "is binary, and no pprof profile; give collapsed stacks, perf script, py-spy, "
           "speedscope "
           "or pprof";
  return {};
}

}  // namespace stepscope
