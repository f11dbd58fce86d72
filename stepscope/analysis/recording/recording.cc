// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/recording/recording.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace {

// Rows beyond the profiler's own rows of its windows; none if it wrote no such row.
std::uint64_t rows_outside(const Trace& trace) {
  const Slices& s = trace.slices;
  Ns first = Ns::max();
  Ns last = Ns::min();
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s.category[i] != Category::trace_window) continue;
    first = std::min(first, s.start[i]);
    last = std::max(last, s.start[i] + s.dur[i]);
  }
  std::uint64_t outside = 0;
  if (last < first) return outside;
  for (std::size_t i = 0; i < s.size(); ++i)
    if (s.category[i] != Category::trace_window &&
        (s.start[i] < first || s.start[i] + s.dur[i] > last))
      ++outside;
  return outside;
}

// Kernels that outlast the next one of their stream, of another launch. A stream runs one after the
// other.
std::uint64_t rows_overlapping(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  std::uint64_t overlapping = 0;
  for (const Track& track : trace.tracks) {
    if (!track.device) continue;
    SliceId before = no_slice;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (s.category[i] != Category::kernel) continue;
      const SliceId row{i};
      const bool one_launch = before != no_slice && rank.launch(row) != no_slice &&
                              rank.launch(row) == rank.launch(before);
      if (before != no_slice && !one_launch && s.start[i] > s.start[index(before)] &&
          s.end(before) > s.end(row))
        ++overlapping;
      if (before == no_slice || s.end(row) >= s.end(before)) before = row;
    }
  }
  return overlapping;
}

// Launches behind all that have rows are queued if the device was busy until they were made. Its
// last operation has no row, and may have lasted as long as any other.
std::uint64_t queued_launches(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  if (rank.devices.empty() || rank.lost_launches.empty()) return 0;
  Ns last_call = Ns::min();
  Ns busy_until = Ns::min();
  Ns longest{};
  for (const SliceId op : rank.operations()) {
    if (const SliceId call = rank.launch(op); call != no_slice)
      last_call = std::max(last_call, s.start[index(call)]);
    busy_until = std::max(busy_until, s.end(op));
    longest = std::max(longest, s.dur[index(op)]);
  }
  const auto start = [&](SliceId call) { return s.start[index(call)]; };
  const auto first = std::ranges::upper_bound(rank.lost_launches, last_call, {}, start);
  const bool busy = start(rank.lost_launches.back()) <= busy_until + longest;
  return busy ? static_cast<std::uint64_t>(rank.lost_launches.end() - first) : 0;
}

// Device work with a call's number below those of all recorded calls.
std::uint64_t early_rows(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  constexpr std::uint32_t no_call = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t lowest = no_call;
  for (std::uint32_t i = 0; i < s.size(); ++i)
    if (s.correlation[i] != 0 && is_call(s.category[i]))
      lowest = std::min(lowest, s.correlation[i]);
  if (lowest == no_call) return 0;
  return static_cast<std::uint64_t>(std::ranges::count_if(rank.operations(), [&](SliceId op) {
    const std::uint32_t number = s.correlation[index(op)];
    return number != 0 && number < lowest && rank.launch(op) == no_slice;
  }));
}

void count_device(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                  RankRecording& r) {
  const Slices& s = trace.slices;
  const auto step_of = [&](SliceId call) -> StepRecording* {
    const auto at = step_of_host(steps, s.start[index(call)]);
    return at ? &r.steps[*at] : nullptr;
  };
  std::vector<bool> launched(s.size());
  const std::vector<bool> migrates = by_name(trace.strings, is_migration);
  const std::vector<bool> on_fault = by_name(trace.strings, [](std::string_view name) {
    return contains_any(name, {"page fault", "speculative"});
  });
  for (const DeviceLane& lane : rank.devices)
    for (const SliceId op : lane.ops) {
      ++r.device_rows;
      const SliceId call = rank.launch(op);
      if (call == no_slice) {
        if (migrates[index(s.name[index(op)])]) {
          ++r.migrations;
          r.migration_time += s.dur[index(op)];
          if (on_fault[index(s.name[index(op)])]) ++r.fault_migrations;
        } else {
          ++r.loose_rows;
        }
        continue;
      }
      StepRecording* step = step_of(call);
      if (step != nullptr) ++step->device_rows;
      const std::string_view name = trace.name(call);
      const bool graph = is_graph_launch(name);
      if (graph) ++r.graph_rows;
      if (launched[index(call)] || !is_launch_call(name)) continue;
      launched[index(call)] = true;
      ++r.launches;
      if (graph) ++r.graph_launches;
      if (step != nullptr) ++step->launches;
    }
  r.launches += rank.lost_launches.size();
  r.lost_launches = rank.lost_launches.size();
  r.queued_launches = queued_launches(trace, rank);
  if (r.loose_rows > 0) r.early_rows = early_rows(trace, rank);
  for (const SliceId call : rank.lost_launches) {
    if (is_graph_launch(trace.name(call))) ++r.graph_launches;
    StepRecording* step = step_of(call);
    if (step == nullptr) continue;
    ++step->launches;
    ++step->lost_launches;
  }
}

void count_collectives(const Trace& trace, RankRecording& r) {
  r.collectives = trace.collectives.size();
  for (const Collective& c : trace.collectives) {
    if (c.group_name != empty_string || c.group_ranks != empty_string) ++r.in_named_groups;
    if (!is_message(collective_kind(trace.strings[c.name]))) continue;
    ++r.messages;
    if (c.src_rank >= 0 || c.dst_rank >= 0) ++r.addressed_messages;
  }
}

// Processes that mark the same step: the most that share one name of a step.
std::uint64_t stepping_processes(const Trace& trace) {
  using Process = std::pair<std::int64_t, StringId>;
  std::vector<bool> marks(trace.strings.size());
  for (std::uint32_t i = 0; i < marks.size(); ++i)
    marks[i] = trace.strings[StringId{i}].starts_with("ProfilerStep#");
  std::map<StringId, std::set<Process>> processes;
  for (const Track& track : trace.tracks) {
    if (track.device) continue;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
      if (marks[index(trace.slices.name[i])])
        processes[trace.slices.name[i]].insert({track.pid, track.pid_text});
  }
  std::size_t most = 0;
  for (const auto& [name, of_name] : processes) most = std::max(most, of_name.size());
  return most;
}

// Operators of NVIDIA's and AMD's libraries. cudnn_is_acceptable asks on a CPU, too.
bool runs_on_gpu_only(std::string_view name) {
  constexpr auto names = std::to_array<std::string_view>(
      {"aten::cudnn_convolution", "aten::cudnn_batch_norm", "aten::_cudnn_rnn",
       "aten::miopen_convolution", "aten::miopen_batch_norm", "aten::miopen_rnn"});
  return std::ranges::any_of(names, [&](std::string_view n) { return name.starts_with(n); });
}

bool is_of_pytorch(std::string_view name) {
  return name.starts_with("aten::") || name.find("at::native") != std::string_view::npos;
}

}  // namespace

std::uint64_t RankRecording::left_out() const {
  constexpr auto reasons = std::to_array<std::string_view>(
      {"missing_timestamp", "unreadable_timestamp", "timestamp_out_of_range", "not_an_event",
       "event_without_phase", "unknown_phase", "truncated_event"});
  std::uint64_t sum = 0;
  for (const std::string_view reason : reasons)
    if (const auto at = notes.find(std::string(reason)); at != notes.end()) sum += at->second;
  return sum;
}

RankRecording recording_of(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                           std::span<const Step> lost) {
  RankRecording r;
  r.format = trace.metadata.format;
  r.clock = trace.metadata.clock;
  r.start = rank.start;
  r.end = rank.end;
  r.outside = outside_steps(rank, steps);
  if (const auto text = trace.metadata.texts.find(std::string(unrecorded_step_key));
      text != trace.metadata.texts.end())
    if (const auto ns = number_of<std::int64_t>(text->second); ns && *ns > 0)
      r.unrecorded_step = Ns{*ns};
  if (const auto text = trace.metadata.texts.find(std::string(profiler_warning_key));
      text != trace.metadata.texts.end())
    r.warning = text->second;
  if (!trace.metadata.devices.empty()) r.gpu = trace.metadata.devices.front().name;
  for (const Category c : trace.slices.category) ++r.rows[static_cast<std::size_t>(c)];
  for (const Step& step : steps) r.steps.emplace_back().index = step.index;
  for (const Step& step : lost) r.lost_steps.push_back(step.index);
  count_device(trace, rank, steps, r);
  r.outside_rows = rows_outside(trace);
  r.overlapping_rows = rows_overlapping(trace, rank);
  r.notes = trace.notes.counts;
  r.shaped_operators = static_cast<std::uint64_t>(
      std::ranges::count_if(trace.ops.input_dims, [](StringId id) { return id != empty_string; }));
  r.memory_events = trace.memory.size();
  count_collectives(trace, r);
  r.stepping_processes = stepping_processes(trace);
  for (std::uint32_t i = 0; i < trace.strings.size(); ++i) {
    r.managed_memory = r.managed_memory || contains_any(trace.strings[StringId{i}],
                                                        {"cudaMallocManaged", "cuMemAllocManaged"});
    if (r.gpu.empty() && runs_on_gpu_only(trace.strings[StringId{i}]))
      r.gpu = trace.strings[StringId{i}];
    r.pytorch = r.pytorch || is_of_pytorch(trace.strings[StringId{i}]);
    r.tensorflow = r.tensorflow || trace.strings[StringId{i}] == "ExecutorState::Process";
  }
  r.managed_memory = r.managed_memory || r.migrations > 0;
  r.start_up = find_start_up(trace, rank, steps);
  return r;
}

namespace {

// What a call of the runtime does, by its name.
enum class SetUp : std::uint8_t {
  nothing,   // launches, waits, copies, or begins and ends the capture of a graph
  queries,   // properties of the device
  reserves,  // allocates, frees or maps memory
  loads,     // code
  other
};

SetUp set_up_of(std::string_view name) {
  if (contains_any(name, {"ModuleLoad", "LibraryLoad", "LinkAdd", "LinkCreate", "LinkComplete"}))
    return SetUp::loads;
  if (is_launch_call(name) || contains_any(name, {"Synchronize", "Wait", "Memcpy", "Memset",
                                                  "Query", "BeginCapture", "EndCapture"}))
    return SetUp::nothing;
  if (contains_any(name, {"DeviceGetAttribute", "GetDeviceProperties", "DeviceGetProperties"}))
    return SetUp::queries;
  if (contains_any(name, {"Alloc", "Free", "MemCreate", "MemRelease", "MemMap", "MemUnmap"}) ||
      name.starts_with("cudaMalloc") || name.starts_with("hipMalloc"))
    return SetUp::reserves;
  return SetUp::other;
}

constexpr int least_queries = 3;

class ThreadCalls {
 public:
  ThreadCalls(const Trace& trace, const std::vector<SetUp>& set_up, std::set<StringId>& operators,
              std::vector<StartUpSpan>& out)
      : trace_(trace),
        set_up_(set_up),
        operators_(operators),
        out_(out),
        called_(trace.strings.size()) {}

  void row(std::uint32_t i) {
    const Slices& s = trace_.slices;
    if (s.category[i] == Category::cpu_op) {
      if (s.start[i] < outer_end_) return;
      finish();
      outer_ = SliceId{i};
      outer_end_ = s.start[i] + s.dur[i];
    } else if (is_call(s.category[i])) {
      call(i);
    }
  }

  // The operator's calls are over.
  void finish() {
    const bool made = queries_ >= least_queries && reserved_ && outer_ != no_slice;
    if (made && last_ - first_ >= least_start_up &&
        operators_.insert(trace_.slices.name[index(outer_)]).second) {
      add(first_, last_, StartUpKind::library, outer_);
      if (2 * trace_.slices.dur[index(longest_)] >= last_ - first_)
        out_.back().most_in = trace_.name(longest_);
    }
    queries_ = 0;
    reserved_ = false;
    first_ = Ns::max();
    longest_ = no_slice;
  }

 private:
  void call(std::uint32_t i) {
    const Slices& s = trace_.slices;
    const SetUp use = set_up_[index(s.name[i])];
    const bool first = !called_[index(s.name[i])];
    called_[index(s.name[i])] = true;
    if (is_launch_call(trace_.name(SliceId{i}))) finish();
    if (s.start[i] >= outer_end_) outer_ = no_slice;
    if (use == SetUp::queries || use == SetUp::reserves) {
      if (first_ == Ns::max()) first_ = s.start[i];
      last_ = s.start[i] + s.dur[i];
      queries_ += use == SetUp::queries ? 1 : 0;
      reserved_ = reserved_ || use == SetUp::reserves;
      if (longest_ == no_slice || s.dur[i] > s.dur[index(longest_)]) longest_ = SliceId{i};
    }
    if (s.dur[i] < least_start_up) return;
    if (use == SetUp::loads)
      add(s.start[i], s.start[i] + s.dur[i], StartUpKind::code, SliceId{i});
    else if (first && (use == SetUp::other || use == SetUp::queries))
      add(s.start[i], s.start[i] + s.dur[i], StartUpKind::first_call, SliceId{i});
  }

  void add(Ns start, Ns end, StartUpKind kind, SliceId row) {
    out_.push_back(
        {.start = start, .end = end, .kind = kind, .what = std::string(trace_.name(row))});
  }

  const Trace& trace_;
  const std::vector<SetUp>& set_up_;
  std::set<StringId>& operators_;  // whose library was set up
  std::vector<StartUpSpan>& out_;
  std::vector<bool> called_;  // by name: calls before
  SliceId outer_ = no_slice;  // the outermost operator around the calls
  Ns outer_end_ = Ns::min();
  int queries_ = 0;  // since the last launch
  bool reserved_ = false;
  Ns first_ = Ns::max();
  Ns last_{};
  SliceId longest_ = no_slice;
};

// The first call that is no quick query creates the context.
void add_context(const Trace& trace, const RankIndex& rank, const std::vector<SetUp>& set_up,
                 std::vector<StartUpSpan>& out) {
  const Slices& s = trace.slices;
  SliceId first = no_slice;
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (!is_call(s.category[i]) || s.dur[i] < least_start_up) continue;
      if (first == no_slice || s.start[i] < s.start[index(first)]) first = SliceId{i};
      break;
    }
  }
  if (first == no_slice || s.dur[index(first)] < least_context ||
      set_up[index(s.name[index(first)])] == SetUp::nothing)
    return;
  for (const DeviceLane& lane : rank.devices)
    if (lane.start < s.end(first)) return;
  std::erase_if(out, [&](const StartUpSpan& span) {
    return span.kind == StartUpKind::first_call && span.start == s.start[index(first)];
  });
  out.push_back({.start = s.start[index(first)],
                 .end = s.end(first),
                 .kind = StartUpKind::context,
                 .what = std::string(trace.name(first))});
}

void add_first_launches(const Trace& trace, const RankIndex& rank, std::vector<StartUpSpan>& out) {
  const Slices& s = trace.slices;
  std::vector<bool> seen(trace.strings.size());  // by the kernel's name
  for (const DeviceLane& lane : rank.devices) {
    Ns busy_until = Ns::min();
    for (const SliceId op : lane.ops) {
      const SliceId call = rank.launch(op);
      if (!seen[index(s.name[index(op)])] && call != no_slice) {
        const Ns start = s.start[index(call)];
        const Ns length = s.dur[index(call)];
        if (length >= least_start_up && busy_until <= start + length / 2 &&
            is_launch_call(trace.name(call)) && !is_graph_launch(trace.name(call)))
          out.push_back({.start = start,
                         .end = start + length,
                         .kind = StartUpKind::first_launch,
                         .what = std::string(trace.name(op))});
      }
      seen[index(s.name[index(op)])] = true;
      busy_until = std::max(busy_until, s.end(op));
    }
  }
}

// Whether each of several steps captures a graph: then it is no start-up. `captures` by start.
bool captures_in_each(std::span<const GraphCapture> captures, std::span<const Step> steps) {
  return steps.size() > 1 && std::ranges::all_of(steps, [&](const Step& step) {
           const auto at =
               std::ranges::lower_bound(captures, step.host_start, {}, &GraphCapture::start);
           return at != captures.end() && at->start < step.host_end;
         });
}

}  // namespace

bool StartUp::holds(Ns t) const {
  return std::ranges::any_of(
      spans, [&](const StartUpSpan& span) { return span.start <= t && t < span.end; });
}

Ns StartUp::before(Ns t) const {
  Ns sum{};
  Ns until = Ns::min();  // spans of several threads may overlap
  for (const StartUpSpan& span : spans) {
    const Ns end = std::min(span.end, t);
    sum += std::max(Ns{0}, end - std::max(span.start, until));
    until = std::max(until, end);
  }
  return sum;
}

StartUp find_start_up(const Trace& trace, const RankIndex& rank, std::span<const Step> steps) {
  StartUp found;
  std::vector<SetUp> set_up(trace.strings.size());
  for (std::uint32_t i = 0; i < set_up.size(); ++i)
    set_up[i] = set_up_of(trace.strings[StringId{i}]);
  std::set<StringId> operators;
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    ThreadCalls thread(trace, set_up, operators, found.spans);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) thread.row(i);
    thread.finish();
  }
  add_context(trace, rank, set_up, found.spans);
  add_first_launches(trace, rank, found.spans);
  std::vector<GraphCapture> captures = graph_captures(trace);
  std::ranges::sort(captures, {}, &GraphCapture::start);
  if (captures_in_each(captures, steps)) captures.clear();
  for (const GraphCapture& c : captures) {
    const Ns end = std::min(c.end, rank.end);
    if (end - c.start >= least_start_up)
      found.spans.push_back(
          {.start = c.start, .end = end, .kind = StartUpKind::capture, .what = {}});
  }
  std::ranges::stable_sort(found.spans, {}, &StartUpSpan::start);
  found.total = found.before(Ns::max());
  return found;
}

}  // namespace stepscope
