// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/host_calls.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/ascii.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

struct Launch {
  SliceId call;
  SliceId op;  // the first operation of this launch on the device
};

// Sorted by device time within each GPU. A graph launch is one launch, however many kernels it
// runs.
std::vector<Launch> first_operations(const Trace& trace, const RankIndex& rank,
                                     const DeviceLane& lane, std::vector<bool>& seen,
                                     HostTable& table) {
  std::vector<Launch> launches;
  for (const SliceId op : lane.ops) {
    const SliceId call = rank.launch(op);
    if (call == no_slice) continue;
    if (trace.slices.start[index(op)] < trace.slices.start[index(call)]) ++table.negative_latencies;
    if (seen[index(call)]) continue;
    seen[index(call)] = true;
    launches.push_back({call, op});
  }
  return launches;
}

// Gaps of one GPU that end with an operation whose launch began inside the gap.
void find_empty_queues(const Trace& trace, const RankIndex& rank, const DeviceLane& lane,
                       std::span<const Step> steps, const std::vector<Launch>& launches,
                       HostTable& table) {
  const Slices& s = trace.slices;
  auto next = launches.begin();
  Ns busy_until = lane.start;
  for (const SliceId op : lane.ops) {
    const Ns start = s.start[index(op)];
    const bool first = next != launches.end() && next->op == op;
    if (first) ++next;
    const SliceId call = rank.launch(op);
    if (first && start > busy_until && s.start[index(call)] >= busy_until) {
      if (const auto place = step_at(steps, start)) {
        ++table.empty_queue_launches;
        table.starved += start - std::max(busy_until, steps[*place].start);
      }
    }
    busy_until = std::max(busy_until, s.end(op));
  }
}

struct Queue {
  IntervalSweep<1> waiting;
  std::vector<std::int64_t> slack;
};

void add_launches(const Trace& trace, const std::vector<Launch>& launches,
                  std::span<const Step> steps, Queue& queue, HostTable& table) {
  const Slices& s = trace.slices;
  for (const auto& [call, op] : launches) {
    const Ns start = s.start[index(op)];
    queue.waiting.add(0, s.end(call), start);
    if (!step_at(steps, start)) continue;
    ++table.launches;
    table.launch_time += s.dur[index(call)];
    if (s.category[index(op)] == Category::kernel)
      queue.slack.push_back((start - s.end(call)).count());
  }
}

Ns time_of(std::span<const Step> steps) {
  Ns sum{};
  for (const Step& step : steps) sum += step.end - step.start;
  return sum;
}

void measure_queue(Queue& queue, std::span<const Step> steps, HostTable& table) {
  if (table.launches == 0 || steps.empty()) return;
  StepCursor cursor(steps);
  double waited = 0;
  queue.waiting.run(steps.front().start, steps.back().end,
                    [&](Ns from, Ns to, const IntervalSweep<1>::Open& open) {
                      cursor.place(from, to, [&](std::size_t, Ns a, Ns b) {
                        waited += static_cast<double>((b - a).count()) * open[0];
                        table.queue_max =
                            std::max(table.queue_max, static_cast<std::uint64_t>(open[0]));
                      });
                    });
  const Ns whole = time_of(steps);
  if (whole > Ns{}) table.queue_mean = waited / static_cast<double>(whole.count());
  if (queue.slack.empty()) return;
  std::ranges::sort(queue.slack);
  const auto at = [&](double q) { return Ns{std::llround(*quantile_sorted(queue.slack, q))}; };
  table.slack_p10 = at(0.1);
  table.slack_p50 = at(0.5);
  table.slack_p90 = at(0.9);
}

class CallSums {
 public:
  explicit CallSums(std::size_t names) : place_(names, no_row) {}
  void add(StringId name, Ns time) {
    std::uint32_t& at = place_[index(name)];
    if (at == no_row) {
      at = static_cast<std::uint32_t>(sums_.size());
      sums_.push_back({name, 0, Ns{}});
    }
    ++sums_[at].count;
    sums_[at].total += time;
    all_ += time;
  }
  [[nodiscard]] Ns all() const { return all_; }
  std::vector<CallSum> take() {
    std::ranges::stable_sort(sums_, std::ranges::greater{}, &CallSum::total);
    return std::move(sums_);
  }

 private:
  std::vector<std::uint32_t> place_;
  std::vector<CallSum> sums_;
  Ns all_{};
};

void sum_waits(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
               HostTable& table) {
  const std::vector<ThreadWaits> waits = host_waits(trace, rank);
  CallSums sync(trace.strings.size());
  for (const ThreadWaits& thread : waits)
    for (const HostSpan& span : thread.sync)
      if (step_of_host(steps, span.start))
        sync.add(trace.slices.name[index(span.row)], span.end - span.start);
  if (rank.main_track)
    for (const HostSpan& span : waits[index(*rank.main_track)].data)
      if (step_of_host(steps, span.start)) table.data += span.end - span.start;
  table.sync = sync.all();
  table.sync_calls = sync.take();
}

// Whether a name is an allocator call or garbage collection.
enum NameUse : std::uint8_t { plain, of_allocator, collects };

NameUse use_of_name(std::string_view name) {
  if (is_garbage_collection(name)) return collects;
  return is_allocator_call(name) ? of_allocator : plain;
}

void sum_calls(const Trace& trace, std::span<const Step> steps, HostTable& table) {
  const Slices& s = trace.slices;
  const std::vector<NameUse> uses = by_name(trace.strings, use_of_name);
  CallSums allocator(trace.strings.size());
  for (const Track& track : trace.tracks) {
    CoveredTime overhead;
    CoveredTime gc;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const Category c = s.category[i];
      const NameUse use = uses[index(s.name[i])];
      if (c != Category::overhead && use == plain) continue;
      if (!step_of_host(steps, s.start[i])) continue;
      if (c == Category::overhead) overhead.add(s.start[i], s.end(SliceId{i}));
      if (is_call(c) && use == of_allocator) allocator.add(s.name[i], s.dur[i]);
      if (is_host(c) && !is_call(c) && use == collects) gc.add(s.start[i], s.end(SliceId{i}));
    }
    table.overhead += overhead.total;
    table.gc += gc.total;
  }
  table.allocator = allocator.all();
  table.allocator_calls = allocator.take();
}

// From the end of a launch to the begin of its operation on a device that is free.
constexpr Ns usual_latency = std::chrono::microseconds{50};

// By track: when it is in calls that allocate or free.
std::vector<std::vector<HostSpan>> allocating_spans(const Trace& trace) {
  const Slices& s = trace.slices;
  const std::vector<bool> allocates = by_name(trace.strings, is_allocator_call);
  std::vector<std::vector<HostSpan>> spans(trace.tracks.size());
  for (std::uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const Track& track = trace.tracks[t];
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
      if (is_call(s.category[i]) && allocates[index(s.name[i])])
        extend(spans[t], s.start[i], s.end(SliceId{i}), SliceId{i});
  }
  return spans;
}

}  // namespace

HostIdle host_idle(const Trace& trace, const RankIndex& rank, std::span<const Step> steps) {
  const Slices& s = trace.slices;
  const auto allocating = allocating_spans(trace);
  HostIdle idle;
  for (const DeviceLane& lane : rank.devices) {
    Ns worked = lane.start;  // until then, communication apart
    Ns busy = lane.start;
    for (const SliceId op : lane.ops) {
      const Ns start = s.start[index(op)];
      const SliceId call = rank.launch(op);
      if (start > worked && step_at(steps, start)) {
        const Ns launched = call == no_slice ? start : s.end(call) + usual_latency;
        const Ns edge = std::clamp(launched, worked, start);
        idle.launching += edge - worked;
        if (call != no_slice)
          cut(
              allocating[index(s.track[index(call)])], worked, edge,
              [&](Ns a, Ns b, SliceId) { idle.allocating += b - a; }, [](Ns, Ns) {});
        if (edge > worked && start > std::max(edge, busy)) {
          idle.late += start - std::max(edge, busy);
          ++idle.late_starts;
        }
      }
      busy = std::max(busy, s.end(op));
      if (!trace.is_communication(op) && !trace.is_wait(op)) worked = busy;
    }
    // Behind the last operation the host works until its step ends.
    if (!steps.empty()) idle.launching += std::max(Ns{0}, steps.back().end - worked);
  }
  return idle;
}

bool is_allocator_call(std::string_view name) {
  constexpr auto starts = std::to_array<std::string_view>(
      {"cudaFree", "hipFree", "cuMemAlloc", "cuMemFree", "cuMemCreate", "cuMemMap", "cuMemUnmap",
       "cuMemRelease", "cuMemSetAccess", "cuMemAddress", "hipMemCreate", "hipMemMap", "hipMemUnmap",
       "hipMemRelease", "hipMemSetAccess", "hipMemAddress", "zeMemAlloc", "zeMemFree"});
  constexpr auto inside = std::to_array<std::string_view>(
      {"Malloc", "HostAlloc", "HostFree", "FreeHost", "USMDeviceAlloc", "USMFree"});
  return std::ranges::any_of(starts, [&](std::string_view w) { return name.starts_with(w); }) ||
         ((name.starts_with("cu") || name.starts_with("hip") || name.starts_with("ur")) &&
          contains_any(name, inside));
}

bool is_garbage_collection(std::string_view name) {
  constexpr auto words = std::to_array<std::string_view>(
      {"Python GC", "python_gc", "gc.collect", "gc_collect", "<built-in function collect>",
       "<built-in method collect of"});
  return contains_any(name, words);
}

HostTable host_table(const Trace& trace, const RankIndex& rank, std::span<const Step> steps) {
  HostTable table;
  Queue queue;
  std::vector<bool> seen(trace.slices.size());
  for (const DeviceLane& lane : rank.devices) {
    const std::vector<Launch> launches = first_operations(trace, rank, lane, seen, table);
    find_empty_queues(trace, rank, lane, steps, launches, table);
    add_launches(trace, launches, steps, queue, table);
  }
  measure_queue(queue, steps, table);
  const Ns whole =
      time_of(steps) * static_cast<std::int64_t>(std::max<std::size_t>(rank.devices.size(), 1));
  table.launch_bound = table.launches > 0 && 2 * table.empty_queue_launches >= table.launches &&
                       10 * table.starved >= whole;
  sum_waits(trace, rank, steps, table);
  sum_calls(trace, steps, table);
  table.idle = host_idle(trace, rank, steps);
  return table;
}

}  // namespace stepscope
