// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/profile_format.h"

#include <array>

#include "stepscope/stack/collapsed.h"
#include "stepscope/stack/counted_tree.h"
#include "stepscope/stack/perf_script.h"
#include "stepscope/stack/pprof.h"
#include "stepscope/stack/speedscope.h"
#include "stepscope/stack/thread_dump.h"

namespace stepscope {
namespace {

bool is_json(std::string_view head) {
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && (head[begin] == '{' || head[begin] == '[');
}

bool is_collapsed(std::string_view head) {
  if (is_json(head) || head.find('\0') != std::string_view::npos) return false;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    std::string_view stack;
    double count = 0;
    if (split_collapsed(line, stack, count)) return true;
  }
  return false;
}

constexpr std::array<ProfileFormat, 6> formats = {{
    {"speedscope", is_speedscope, read_speedscope},
    {"pprof", is_pprof, read_pprof},
    {"perf_script", is_perf_script, read_perf_script},
    {"counted_tree", is_counted_tree, read_counted_tree},
    {"thread_dump", is_thread_dump, read_thread_dump},
    {"collapsed", is_collapsed, read_collapsed},
}};

}  // namespace

std::span<const ProfileFormat> profile_formats() { return formats; }

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
