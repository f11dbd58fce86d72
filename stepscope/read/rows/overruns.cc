// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/overruns.h"

#include <algorithm>
#include <tuple>

namespace stepscope {
namespace {

bool has_hip_calls(const Trace& trace) {
  std::vector<bool> hip(trace.strings.size());
  bool any = false;
  for (std::uint32_t i = 0; i < hip.size(); ++i) {
    hip[i] = trace.strings[StringId{i}].starts_with("hip");
    any = any || hip[i];
  }
  const Slices& s = trace.slices;
  for (std::size_t i = 0; any && i < s.size(); ++i)
    if (s.category[i] == Category::runtime && hip[index(s.name[i])]) return true;
  return false;
}

}  // namespace

void cut_overruns(Trace& trace) {
  if (!has_hip_calls(trace)) return;
  Slices& s = trace.slices;
  std::vector<std::uint32_t> kernels;
  for (std::uint32_t i = 0; i < s.size(); ++i)
    if (s.category[i] == Category::kernel) kernels.push_back(i);
  std::ranges::sort(kernels, {}, [&](std::uint32_t i) {
    return std::tuple(index(s.track[i]), s.start[i], -s.dur[i], i);
  });
  std::uint64_t cut = 0;
  for (std::size_t k = kernels.size(); k-- > 1;) {  // last first: the next has its real end
    const std::uint32_t i = kernels[k - 1];
    const std::uint32_t next = kernels[k];
    const bool one_launch = s.correlation[i] != 0 && s.correlation[i] == s.correlation[next];
    if (s.track[i] != s.track[next] || one_launch || s.start[next] == s.start[i] ||
        s.start[i] + s.dur[i] <= s.start[next] + s.dur[next])
      continue;
    s.dur[i] = s.start[next] - s.start[i];
    ++cut;
  }
  if (cut > 0) trace.notes.add("kernel_beyond_the_next", trace.metadata.text_bytes, cut);
}

}  // namespace stepscope
