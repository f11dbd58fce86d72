// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/rank_rows.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, category_count> cat_names = {
    "cpu_op",      "user_annotation", "gpu_user_annotation", "python_function", "cuda_runtime",
    "cuda_driver", "kernel",          "gpu_memcpy",          "gpu_memset",      "cuda_sync",
    "cuda_event",  "overhead",        "cuda_profiler_range", "Trace",           ""};

}  // namespace

std::string_view cat_name(Category category) {
  return cat_names[static_cast<std::size_t>(category)];
}

RankProcesses rank_processes(const RankToWrite& rank, std::int64_t first_pid) {
  const Trace& trace = *rank.trace;
  RankProcesses processes;
  std::map<std::string, std::size_t> places;
  for (const Track& t : trace.tracks) {
    const std::string gpu = "GPU " + std::to_string(t.device_index);
    std::string key = t.device ? gpu : "host";
    key.append(" ").append(std::to_string(t.pid)).append(trace.strings[t.pid_text]);
    const auto [at, fresh] = places.try_emplace(key, processes.list.size());
    if (fresh) {
      std::string_view name = trace.strings[t.process_name];
      if (t.device)
        name = gpu;
      else if (name.empty())
        name = t.pid_text == empty_string ? "host" : trace.strings[t.pid_text];
      processes.list.push_back(
          {.pid = first_pid + static_cast<std::int64_t>(processes.list.size()),
           .name = "rank " + std::to_string(rank.rank) + ": " + std::string(name),
           .device = t.device});
    }
    processes.of_track.push_back(at->second);
  }
  return processes;
}

std::vector<TraceMark> in_row_order(std::vector<TraceMark> marks) {
  std::ranges::stable_sort(marks, {},
                           [](const TraceMark& m) { return std::pair(m.start, -m.time); });
  return marks;
}

std::int64_t tid_of(const Track& track) {
  return track.tid_text == empty_string
             ? track.tid
             : 2'000'000'000 + static_cast<std::int64_t>(index(track.tid_text));
}

std::string row_name(const Trace& trace, const Track& track) {
  if (track.thread_name != empty_string) return std::string(trace.strings[track.thread_name]);
  return track.device ? "stream " + std::to_string(track.tid) : std::string();
}

std::unordered_set<std::uint32_t> linked_correlations(const Trace& trace) {
  const Slices& s = trace.slices;
  std::unordered_set<std::uint32_t> called;
  std::unordered_set<std::uint32_t> linked;
  for (std::size_t i = 0; i < s.size(); ++i)
    if (is_launch(s.category[i])) called.insert(s.correlation[i]);
  for (std::size_t i = 0; i < s.size(); ++i)
    if (is_device_work(s.category[i]) && called.contains(s.correlation[i]))
      linked.insert(s.correlation[i]);
  linked.erase(0);  // none
  return linked;
}

ArgumentsOf::ArgumentsOf(const Trace& trace) : trace_(trace) {
  const std::vector<SliceId>& of = trace_.counters.slice;
  for (std::uint32_t i = 0; i < of.size(); ++i)
    if (of[i] != no_slice) metrics_.push_back(i);
  std::ranges::stable_sort(metrics_, {}, [&](std::uint32_t i) { return index(of[i]); });
}

void ArgumentsOf::give(SliceId id, SliceArguments& out) const {
  const std::size_t i = index(id);
  const Slices& s = trace_.slices;
  const Track& track = trace_.track(s.track[i]);
  if (track.device) {
    out.integer("device", track.device_index);
    if (is_device_work(s.category[i])) out.integer("stream", track.tid);
  }
  if (s.external_id[i] != 0) out.integer("External id", s.external_id[i]);
  if (s.correlation[i] != 0) out.integer("correlation", s.correlation[i]);
  if (s.detail[i] != no_row) give_detail(s.category[i], s.detail[i], out);
  if (const Collective* c = trace_.collective(id)) give_collective(*c, out);
  if (s.category[i] != Category::profiler_range) return;
  const Counters& c = trace_.counters;
  const auto slice_of = [&](std::uint32_t m) { return index(c.slice[m]); };
  for (const std::uint32_t m : std::ranges::equal_range(metrics_, index(id), {}, slice_of))
    out.real(trace_.strings[c.metric[m]], c.value[m]);
}

void ArgumentsOf::give_detail(Category category, std::uint32_t row, SliceArguments& out) const {
  if (category == Category::memcpy || category == Category::memset) {
    if (trace_.copies.bytes[row].value >= 0) out.integer("bytes", trace_.copies.bytes[row].value);
  } else if (category == Category::sync) {
    if (trace_.syncs.stream[row] >= 0) out.integer("stream", trace_.syncs.stream[row]);
    out.integer("wait_on_stream", trace_.syncs.wait_on_stream[row]);
    out.integer("wait_on_cuda_event_record_corr_id", trace_.syncs.wait_on_record_correlation[row]);
  } else {
    const OpDetails& ops = trace_.ops;
    const auto list = [&](std::string_view key, StringId value) {
      if (value != empty_string) out.list(key, value);
    };
    list("Input Dims", ops.input_dims[row]);
    list("Input type", ops.input_types[row]);
    list("Concrete Inputs", ops.concrete_inputs[row]);
    if (ops.sequence[row] >= 0) out.integer("Sequence number", ops.sequence[row]);
    if (ops.forward_thread[row] != 0) out.integer("Fwd thread id", ops.forward_thread[row]);
  }
}

void ArgumentsOf::give_collective(const Collective& c, SliceArguments& out) {
  const auto known = [&](std::string_view key, std::int64_t v) {
    if (v >= 0) out.integer(key, v);
  };
  const auto named = [&](std::string_view key, StringId id) {
    if (id != empty_string) out.text(key, id);
  };
  named("Collective name", c.name);
  named("dtype", c.dtype);
  known("In msg nelems", c.in_elements);
  known("Out msg nelems", c.out_elements);
  named("In split size", c.in_split);
  named("Out split size", c.out_split);
  named("Process Group Name", c.group_name);
  named("Process Group Description", c.group_description);
  named("Process Group Ranks", c.group_ranks);
  known("Group size", c.group_size);
  known("Global rank start", c.global_rank_start);
  known("Global rank stride", c.global_rank_stride);
  known("Seq", c.seq);
  known("Src Rank", c.src_rank);
  known("Dst Rank", c.dst_rank);
  known("Rank", c.rank);
  if (c.is_async) out.integer("Is asynchronized op", 1);
}

Ns common_base(std::span<const RankToWrite> ranks) {
  Ns base = Ns::max();
  for (const RankToWrite& r : ranks) {
    if (r.trace->metadata.clock != Clock::unix_epoch) return Ns{};
    for (const std::vector<Ns>* column : {&r.trace->slices.start, &r.trace->memory.time})
      for (const Ns t : *column) base = std::min(base, t);
  }
  if (base == Ns::max()) return Ns{};
  return std::chrono::duration_cast<std::chrono::seconds>(base);
}

}  // namespace stepscope
