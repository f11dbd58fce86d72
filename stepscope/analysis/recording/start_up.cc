// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/recording/start_up.h"

#include <algorithm>
#include <set>
#include <utility>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

// What a call of the runtime does, by its name.
enum class SetUp : std::uint8_t {
  nothing,   // launches, waits or copies
  queries,   // properties of the device
  reserves,  // allocates, frees or maps memory
  loads,     // code
  other
};

SetUp set_up_of(std::string_view name) {
  if (contains_any(name, {"ModuleLoad", "LibraryLoad", "LinkAdd", "LinkCreate", "LinkComplete"}))
    return SetUp::loads;
  if (is_launch_call(name) ||
      contains_any(name, {"Synchronize", "Wait", "Memcpy", "Memset", "Query"}))
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
        operators_.insert(trace_.slices.name[index(outer_)]).second)
      add(first_, last_, StartUpKind::library, outer_);
    queries_ = 0;
    reserved_ = false;
    first_ = Ns::max();
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
    }
    if (s.dur[i] < least_start_up) return;
    if (use == SetUp::loads)
      add(s.start[i], s.start[i] + s.dur[i], StartUpKind::code, SliceId{i});
    else if (first && (use == SetUp::other || use == SetUp::queries))
      add(s.start[i], s.start[i] + s.dur[i], StartUpKind::first_call, SliceId{i});
  }

  void add(Ns start, Ns end, StartUpKind kind, SliceId row) {
    out_.push_back({start, end, kind, std::string(trace_.name(row))});
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
};

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
          out.push_back(
              {start, start + length, StartUpKind::first_launch, std::string(trace.name(op))});
      }
      seen[index(s.name[index(op)])] = true;
      busy_until = std::max(busy_until, s.end(op));
    }
  }
}

}  // namespace

bool StartUp::holds(Ns t) const {
  return std::ranges::any_of(
      spans, [&](const StartUpSpan& span) { return span.start <= t && t < span.end; });
}

StartUp find_start_up(const Trace& trace, const RankIndex& rank) {
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
  add_first_launches(trace, rank, found.spans);
  std::ranges::stable_sort(found.spans, {}, &StartUpSpan::start);
  Ns until = Ns::min();
  for (const StartUpSpan& span : found.spans) {
    found.total += std::max(Ns{0}, span.end - std::max(span.start, until));
    until = std::max(until, span.end);
  }
  return found;
}

}  // namespace stepscope
