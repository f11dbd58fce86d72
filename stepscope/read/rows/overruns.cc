// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/overruns.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

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

namespace {

// The tail of a kernel over a successor that was launched early takes some microseconds (1.5 µs in
// shared traces of an H100).
constexpr Ns far_beyond = std::chrono::microseconds{100};

// Whether each kernel begins and ends after the one before it of its stream, as nearly all do.
bool in_order(const Trace& trace) {
  const Slices& s = trace.slices;
  std::vector<std::pair<Ns, Ns>> last(trace.tracks.size(), {Ns::min(), Ns::min()});
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    if (s.category[i] != Category::kernel) continue;
    auto& [start, end] = last[index(s.track[i])];
    if (s.start[i] < start || s.start[i] + s.dur[i] < end) return false;
    start = s.start[i];
    end = s.start[i] + s.dur[i];
  }
  return true;
}

// Kernels by track, then start.
std::vector<std::uint32_t> kernels_of(const Trace& trace) {
  const Slices& s = trace.slices;
  std::vector<std::uint32_t> kernels;
  for (std::uint32_t i = 0; i < s.size(); ++i)
    if (s.category[i] == Category::kernel) kernels.push_back(i);
  std::ranges::sort(kernels, {}, [&](std::uint32_t i) {
    return std::tuple(index(s.track[i]), s.start[i], -s.dur[i], i);
  });
  return kernels;
}

// The last two ends of rows, the profiler's own apart.
std::pair<Ns, Ns> last_ends(const Slices& s) {
  std::pair<Ns, Ns> last{Ns::min(), Ns::min()};
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    if (s.category[i] == Category::trace_window) continue;
    const Ns end = s.start[i] + s.dur[i];
    if (end > last.first)
      last = {end, last.first};
    else
      last.second = std::max(last.second, end);
  }
  return last;
}

}  // namespace

void cut_overruns(Trace& trace) {
  if (in_order(trace)) return;
  Slices& s = trace.slices;
  const std::vector<std::uint32_t> kernels = kernels_of(trace);
  const bool hip = has_hip_calls(trace);
  const auto [last, before_last] = last_ends(s);
  const auto end = [&](std::uint32_t i) { return s.start[i] + s.dur[i]; };
  std::uint64_t cut = 0;
  for (std::size_t k = kernels.size(); k-- > 1;) {  // last first: the next has its real end
    const std::uint32_t i = kernels[k - 1];
    const std::uint32_t next = kernels[k];
    const bool one_launch = s.correlation[i] != 0 && s.correlation[i] == s.correlation[next];
    if (s.track[i] != s.track[next] || one_launch || s.start[next] == s.start[i] ||
        end(i) <= end(next))
      continue;
    const bool two = k + 1 < kernels.size() && s.track[kernels[k + 1]] == s.track[i] &&
                     end(i) > end(kernels[k + 1]);
    const bool beyond_all = end(i) == last && last - before_last >= far_beyond;
    if (!hip && !two && !beyond_all) continue;
    s.dur[i] = s.start[next] - s.start[i];
    ++cut;
  }
  if (cut > 0) trace.notes.add("kernel_beyond_the_next", trace.metadata.text_bytes, cut);
}

}  // namespace stepscope
