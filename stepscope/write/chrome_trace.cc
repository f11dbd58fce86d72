// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/chrome_trace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "stepscope/write/gzip_writer.h"
#include "stepscope/write/json_text.h"
#include "stepscope/write/rank_metadata.h"

namespace stepscope {
namespace {

// What the reader calls each category.
constexpr std::array<std::string_view, category_count> cat_names = {
    "cpu_op",      "user_annotation", "gpu_user_annotation", "python_function", "cuda_runtime",
    "cuda_driver", "kernel",          "gpu_memcpy",          "gpu_memset",      "cuda_sync",
    "cuda_event",  "overhead",        "cuda_profiler_range", "Trace",           ""};

// Rows of a stream beyond the first get thread ids above the streams', within the 32 bits that
// viewers keep.
constexpr std::int64_t second_row = 100'000'000;

class RankWriter {
 public:
  RankWriter(GzipWriter& out, const RankToWrite& r, Ns base, std::int64_t first_pid, bool& any)
      : out_(out), rank_(r.rank), trace_(*r.trace), base_(base), next_pid_(first_pid), any_(any) {}

  void write(const StopFlag* stop) {
    name_tracks();
    find_linked();
    find_metrics();
    for (const Track& track : trace_.tracks) write_track(track, stop);
    if (stop != nullptr && stop->requested()) return;
    for (std::size_t i = 0; i < trace_.memory.size(); ++i) write_memory(i);
    for (std::size_t i = 0; i < trace_.counters.size(); ++i)
      if (trace_.counters.slice[i] == no_slice) write_counter(i);
  }
  [[nodiscard]] std::int64_t next_pid() const { return next_pid_; }

 private:
  struct Process {
    std::int64_t pid = 0;
    std::string name;
  };

  // Each process of the rank, and each of its GPUs, gets a pid that no other rank has.
  void name_tracks() {
    std::map<std::string, Process> processes;
    for (const Track& t : trace_.tracks) {
      const std::string key =
          (t.device ? "GPU " + std::to_string(t.device_index) : std::string("host ")) +
          std::to_string(t.pid) + std::string(trace_.strings[t.pid_text]);
      const auto [at, fresh] = processes.try_emplace(key, Process{next_pid_, {}});
      if (fresh) {
        ++next_pid_;
        std::string_view name = trace_.strings[t.process_name];
        const std::string gpu = "GPU " + std::to_string(t.device_index);
        if (t.device)
          name = gpu;
        else if (name.empty())
          name = t.pid_text == empty_string ? "host" : trace_.strings[t.pid_text];
        write_name("process_name", at->second.pid, 0,
                   "rank " + std::to_string(rank_) + ": " + std::string(name));
        write_sort_index(at->second.pid);
      }
      pids_.push_back(at->second.pid);
      if (t.thread_name != empty_string)
        write_name("thread_name", at->second.pid, tid_of(t), trace_.strings[t.thread_name]);
      else if (t.device)
        write_name("thread_name", at->second.pid, tid_of(t), "stream " + std::to_string(t.tid));
    }
  }

  // A thread that has a text for its id gets a number beside the real ones.
  [[nodiscard]] std::int64_t tid_of(const Track& t) const {
    return t.tid_text == empty_string
               ? t.tid
               : 2'000'000'000 + static_cast<std::int64_t>(index(t.tid_text));
  }

  static bool is_launch(Category c) { return c == Category::runtime || c == Category::driver; }

  // Correlations that both a call and device work have: viewers want both ends of an arrow.
  void find_linked() {
    const Slices& s = trace_.slices;
    std::unordered_set<std::uint32_t> called;
    for (std::size_t i = 0; i < s.size(); ++i)
      if (is_launch(s.category[i])) called.insert(s.correlation[i]);
    for (std::size_t i = 0; i < s.size(); ++i)
      if (is_device_work(s.category[i]) && called.contains(s.correlation[i]))
        linked_.insert(s.correlation[i]);
    linked_.erase(0);  // none
  }

  void write_track(const Track& track, const StopFlag* stop) {
    const auto place = static_cast<std::size_t>(&track - trace_.tracks.data());
    std::vector<std::vector<Ns>> rows(1);  // the open ends of each row of a stream
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (stop != nullptr && stop->requested()) return;
      const std::size_t known = rows.size();
      const std::size_t row = track.device ? free_row(rows, SliceId{i}) : 0;
      if (rows.size() > known) name_row(track, pids_[place], row);
      write_slice(SliceId{i}, pids_[place],
                  tid_of(track) + static_cast<std::int64_t>(row) * second_row);
    }
  }

  void name_row(const Track& track, std::int64_t pid, std::size_t row) {
    std::string name(trace_.strings[track.thread_name]);
    if (name.empty()) name = "stream " + std::to_string(track.tid);
    write_name("thread_name", pid, tid_of(track) + static_cast<std::int64_t>(row) * second_row,
               name + " (" + std::to_string(row + 1) + ")");
  }

  // The first row on which the slice nests.
  std::size_t free_row(std::vector<std::vector<Ns>>& rows, SliceId id) const {
    const Ns start = trace_.slices.start[index(id)];
    const Ns end = trace_.slices.end(id);
    for (std::size_t r = 0;; ++r) {
      if (r == rows.size()) rows.emplace_back();
      while (!rows[r].empty() && rows[r].back() <= start) rows[r].pop_back();
      if (rows[r].empty() || end <= rows[r].back()) {
        rows[r].push_back(end);
        return r;
      }
    }
  }

  void begin(std::string_view phase) {
    text_ = any_ ? ",\n{\"ph\":\"" : "\n{\"ph\":\"";
    any_ = true;
    text_ += phase;
    text_ += '"';
  }
  void member(std::string_view key) {
    text_ += ",\"";
    text_ += key;
    text_ += "\":";
  }
  void integer(std::string_view key, std::int64_t value) {
    member(key);
    append_integer(text_, value);
  }
  void text(std::string_view key, std::string_view value) {
    member(key);
    append_json_string(text_, value);
  }
  void time(std::string_view key, Ns t) {
    member(key);
    append_microseconds(text_, t);
  }
  void open_args() {
    text_ += ",\"args\":{\"rank\":";
    append_integer(text_, rank_);
  }
  void end() {
    text_ += '}';
    out_.write(text_);
  }

  void write_name(std::string_view what, std::int64_t pid, std::int64_t tid,
                  std::string_view name) {
    begin("M");
    text("name", what);
    integer("pid", pid);
    integer("tid", tid);
    text_ += ",\"args\":{\"name\":";
    append_json_string(text_, name);
    text_ += '}';
    end();
  }
  void write_sort_index(std::int64_t pid) {
    begin("M");
    text("name", "process_sort_index");
    integer("pid", pid);
    integer("tid", 0);
    text_ += ",\"args\":{\"sort_index\":";
    append_integer(text_, pid);
    text_ += '}';
    end();
  }

  void write_slice(SliceId id, std::int64_t pid, std::int64_t tid) {
    const std::size_t i = index(id);
    const Slices& s = trace_.slices;
    begin("X");
    if (const auto cat = cat_names[static_cast<std::size_t>(s.category[i])]; !cat.empty())
      text("cat", cat);
    text("name", trace_.name(id));
    integer("pid", pid);
    integer("tid", tid);
    time("ts", s.start[i] - base_);
    time("dur", s.dur[i]);
    open_args();
    const Track& track = trace_.track(s.track[i]);
    if (track.device) {
      integer("device", track.device_index);
      if (is_device_work(s.category[i])) integer("stream", track.tid);
    }
    if (s.external_id[i] != 0) integer("External id", s.external_id[i]);
    if (s.correlation[i] != 0) integer("correlation", s.correlation[i]);
    if (s.detail[i] != no_row) write_detail(s.category[i], s.detail[i]);
    if (const Collective* c = trace_.collective(id)) write_collective(*c);
    if (s.category[i] == Category::profiler_range) write_metrics(id);
    text_ += '}';
    end();
    write_flow(id, pid, tid);
  }

  void write_detail(Category category, std::uint32_t row) {
    if (category == Category::memcpy || category == Category::memset) {
      if (trace_.copies.bytes[row].value >= 0) integer("bytes", trace_.copies.bytes[row].value);
    } else if (category == Category::sync) {
      if (trace_.syncs.stream[row] >= 0) integer("stream", trace_.syncs.stream[row]);
      integer("wait_on_stream", trace_.syncs.wait_on_stream[row]);
      integer("wait_on_cuda_event_record_corr_id", trace_.syncs.wait_on_record_correlation[row]);
    } else {
      const OpDetails& ops = trace_.ops;
      raw("Input Dims", ops.input_dims[row]);
      raw("Input type", ops.input_types[row]);
      raw("Concrete Inputs", ops.concrete_inputs[row]);
      if (ops.sequence[row] >= 0) integer("Sequence number", ops.sequence[row]);
      if (ops.forward_thread[row] != 0) integer("Fwd thread id", ops.forward_thread[row]);
    }
  }
  // A list as the file had it, if it is JSON; else as a text.
  void raw(std::string_view key, StringId id) {
    const std::string_view value = trace_.strings[id];
    if (value.empty()) return;
    if (!nlohmann::json::accept(value)) return text(key, value);
    member(key);
    text_ += value;
  }

  void write_collective(const Collective& c) {
    const auto known = [&](std::string_view key, std::int64_t v) {
      if (v >= 0) integer(key, v);
    };
    const auto named = [&](std::string_view key, StringId id) {
      if (id != empty_string) text(key, trace_.strings[id]);
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
    if (c.is_async) integer("Is asynchronized op", 1);
  }

  // Readings of profiler ranges by their slice.
  void find_metrics() {
    const std::vector<SliceId>& of = trace_.counters.slice;
    for (std::uint32_t i = 0; i < of.size(); ++i)
      if (of[i] != no_slice) metrics_.push_back(i);
    std::ranges::stable_sort(metrics_, {}, [&](std::uint32_t i) { return index(of[i]); });
  }

  void write_metrics(SliceId id) {
    const Counters& c = trace_.counters;
    const auto slice_of = [&](std::uint32_t i) { return index(c.slice[i]); };
    for (const std::uint32_t i : std::ranges::equal_range(metrics_, index(id), {}, slice_of)) {
      text_ += ',';
      append_json_string(text_, trace_.strings[c.metric[i]]);
      text_ += ':' + nlohmann::json(c.value[i]).dump();
    }
  }

  // The arrow from a launch to its device work.
  void write_flow(SliceId id, std::int64_t pid, std::int64_t tid) {
    const std::size_t i = index(id);
    const Category c = trace_.slices.category[i];
    const bool launch = is_launch(c);
    const std::uint32_t correlation = trace_.slices.correlation[i];
    if ((!launch && !is_device_work(c)) || !linked_.contains(correlation)) return;
    begin(launch ? "s" : "f");
    integer("id", static_cast<std::int64_t>(rank_) * 4'294'967'296 + correlation);
    integer("pid", pid);
    integer("tid", tid);
    time("ts", trace_.slices.start[i] - base_);
    text("cat", "ac2g");
    text("name", "ac2g");
    if (!launch) text("bp", "e");
    end();
  }

  void write_memory(std::size_t i) {
    const MemoryEvents& m = trace_.memory;
    begin("i");
    text("cat", "cpu_instant_event");
    text("name", "[memory]");
    text("s", "t");
    integer("pid", pids_[index(m.track[i])]);
    integer("tid", tid_of(trace_.track(m.track[i])));
    time("ts", m.time[i] - base_);
    open_args();
    integer("Device Type", m.device[i] < 0 ? 0 : 1);
    integer("Device Id", m.device[i]);
    integer("Addr", static_cast<std::int64_t>(m.address[i]));
    integer("Bytes", m.bytes[i].value);
    if (m.total_allocated[i].value >= 0) integer("Total Allocated", m.total_allocated[i].value);
    if (m.total_reserved[i].value >= 0) integer("Total Reserved", m.total_reserved[i].value);
    text_ += '}';
    end();
  }

  void write_counter(std::size_t i) {
    const Counters& c = trace_.counters;
    begin("C");
    text("name", trace_.strings[c.metric[i]]);
    integer("pid", pids_.empty() ? next_pid_ : pids_[0]);
    time("ts", c.time[i] - base_);
    text_ += ",\"args\":{";
    append_json_string(text_, trace_.strings[c.metric[i]]);
    text_ += ":" + nlohmann::json(c.value[i]).dump() + "}";
    end();
  }

  GzipWriter& out_;
  int rank_;
  const Trace& trace_;
  Ns base_;
  std::int64_t next_pid_;
  bool& any_;
  std::vector<std::int64_t> pids_;  // by track
  std::unordered_set<std::uint32_t> linked_;
  std::vector<std::uint32_t> metrics_;  // rows of `counters` that belong to a slice, by slice
  std::string text_;
};

// What all instants are written relative to: the first of any rank, cut to seconds. Zero where a
// clock is relative.
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

}  // namespace

Result<Done> write_chrome_trace(std::span<const RankToWrite> ranks, const std::string& path,
                                const StopFlag* stop) {
  auto out = GzipWriter::create(path);
  if (!out) return out.error();
  const Ns base = common_base(ranks);
  nlohmann::json metadata = nlohmann::json::array();
  for (const RankToWrite& r : ranks) metadata.push_back(rank_metadata(r.rank, r.trace->metadata));
  out->write("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":" +
             std::to_string(base.count()) + ",\"stepscopeRanks\":" +
             metadata.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
             ",\"traceEvents\":[");
  bool any = false;
  std::int64_t pid = 1;
  for (const RankToWrite& r : ranks) {
    RankWriter writer(*out, r, base, pid, any);
    writer.write(stop);
    pid = writer.next_pid();
  }
  if (stop != nullptr && stop->requested())
    return Error{.what = "interrupted", .file = path, .byte = {}, .hint = {}, .interrupted = true};
  out->write("\n]}\n");
  return out->commit();
}

}  // namespace stepscope
