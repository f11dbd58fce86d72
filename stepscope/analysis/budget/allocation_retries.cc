// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/allocation_retries.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

enum Use : std::uint8_t { neutral, allocates, fails, frees, waits };

Use use_of(std::string_view name) {
  constexpr auto allocating = std::to_array<std::string_view>(
      {"cudaMalloc", "hipMalloc", "cuMemAlloc", "cuMemAlloc_v2", "cuMemCreate", "hipMemCreate"});
  constexpr auto freeing = std::to_array<std::string_view>(
      {"cudaFree", "hipFree", "cuMemFree", "cuMemFree_v2", "cuMemUnmap", "cuMemRelease",
       "hipMemUnmap", "hipMemRelease"});
  if (std::ranges::find(allocating, name) != allocating.end()) return allocates;
  if (name.ends_with(failed_call)) {
    name.remove_suffix(failed_call.size());
    return std::ranges::find(allocating, name) != allocating.end() ? fails : neutral;
  }
  if (contains(name, "Synchronize")) return waits;
  return std::ranges::find(freeing, name) != freeing.end() ? frees : neutral;
}

// An allocation that fails is followed at once by the frees of the cache, or by calls that wait for
// the blocks in use.
constexpr Ns right_after = std::chrono::milliseconds{1};
// cudaFree of a null pointer takes less than a microsecond; of memory it waits for the device.
constexpr Ns least_free = std::chrono::microseconds{2};
constexpr Ns least_pause = std::chrono::microseconds{100};

// The calls of one thread since its last launch.
struct Calls {
  SliceId before = no_slice;            // the last allocation
  bool failed = false;                  // it is known to have failed
  Ns waited{};                          // in calls that wait, since then
  SliceId first_free = no_slice;        // first free since `before`
  Ns paused_from{};                     // the end of the thread's row before the first free
  SliceId freeing_operator = no_slice;  // innermost operator around the first free
  std::uint64_t frees = 0;
};

class Thread {
 public:
  Thread(const Trace& trace, std::span<const Step> steps, const StartUp& start_up,
         AllocationRetries& out)
      : trace_(trace), steps_(steps), start_up_(start_up), out_(out) {}

  void row(SliceId row, Use use, bool launches) {
    const Slices& s = trace_.slices;
    const Ns start = s.start[index(row)];
    const bool is_operator = s.category[index(row)] == Category::cpu_op;
    for (; !open_.empty() && s.end(open_.back()) <= start; open_.pop_back())
      last_ = std::max(last_, s.end(open_.back()));
    const Ns last = std::exchange(last_, std::max(last_, is_operator ? start : s.end(row)));
    if (is_operator) {
      open_.push_back(row);
    } else if (launches) {
      calls_ = {};
    } else if (use == frees && frees_nothing(row)) {
      return;
    } else if (use == frees) {
      if (calls_.frees++ > 0) return;
      calls_.first_free = row;
      calls_.paused_from = last;
      calls_.freeing_operator = innermost();
    } else if (use == waits && calls_.frees == 0) {
      calls_.waited += s.dur[index(row)];
    } else if (use == allocates || use == fails) {
      if (calls_.frees > 0) judge(row);
      calls_ = {};
      calls_.before = row;
      calls_.failed = use == fails;
    }
  }

 private:
  [[nodiscard]] SliceId innermost() const { return open_.empty() ? no_slice : open_.back(); }

  // Unmapping does not wait, so its duration says nothing.
  [[nodiscard]] bool frees_nothing(SliceId row) const {
    return trace_.slices.dur[index(row)] < least_free && trace_.name(row).ends_with("Free");
  }

  void judge(SliceId row) {
    const Slices& s = trace_.slices;
    const Ns freed = s.start[index(calls_.first_free)];
    const bool one_operator =
        calls_.freeing_operator != no_slice && calls_.freeing_operator == innermost();
    const bool failed = calls_.before != no_slice && (calls_.failed || out_.inferred) &&
                        freed - s.end(calls_.before) - calls_.waited <= right_after;
    if (!failed && (!out_.inferred || !one_operator || calls_.frees < 2)) return;
    const Ns start = failed ? s.start[index(calls_.before)] : freed;
    if (!step_of_host(steps_, start) || start_up_.holds(freed)) return;
    const Ns time = s.end(row) - start;
    ++out_.count;
    if (failed) ++out_.after_failure;
    out_.frees += calls_.frees;
    out_.total += time;
    if (freed - calls_.paused_from >= least_pause)
      out_.pauses.push_back({calls_.paused_from, freed, calls_.first_free});
    if (time > out_.worst) {
      out_.worst = time;
      out_.worst_at = start;
    }
  }

  const Trace& trace_;
  std::span<const Step> steps_;
  const StartUp& start_up_;
  AllocationRetries& out_;
  Calls calls_;
  std::vector<SliceId> open_;  // operators around the row, outermost first
  Ns last_ = Ns::min();        // the last begin or end of a row before it
};

}  // namespace

AllocationRetries allocation_retries(const Trace& trace, const RankIndex& rank,
                                     std::span<const Step> steps, const StartUp& start_up) {
  AllocationRetries out{.inferred = !trace.metadata.texts.contains(std::string(call_results_key))};
  const std::vector<Use> uses = by_name(trace.strings, use_of);
  if (std::ranges::count(uses, frees) == 0) return out;
  const std::vector<bool> launches_kernel =
      by_name(trace.strings, [](std::string_view name) { return contains(name, "LaunchKernel"); });
  const Slices& s = trace.slices;
  std::vector<bool> launches(s.size());
  for (const SliceId call : rank.launch_of)
    if (call != no_slice) launches[index(call)] = true;
  // Without rows of the device the calls themselves show the retries.
  for (std::uint32_t i = 0; i < s.size(); ++i)
    if (is_call(s.category[i])) launches[i] = launches[i] || launches_kernel[index(s.name[i])];
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    Thread thread(trace, steps, start_up, out);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const Category c = s.category[i];
      if (c == Category::cpu_op || is_call(c))
        thread.row(SliceId{i}, uses[index(s.name[i])], launches[i]);
    }
  }
  return out;
}

}  // namespace stepscope
