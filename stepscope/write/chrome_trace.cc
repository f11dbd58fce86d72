// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/chrome_trace.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "stepscope/event/finding_category.h"
#include "stepscope/write/gzip_writer.h"
#include "stepscope/write/json_text.h"
#include "stepscope/write/rank_metadata.h"

namespace stepscope {
namespace {

// Further rows of a stream get thread ids above the streams', within the 32 bits that viewers
// support.
constexpr std::int64_t second_row = 100'000'000;
// Thread ids of marks are above those of threads with a text as their id.
constexpr std::int64_t first_mark_row = 2'100'000'000;

class ChromeRankWriter final : public SliceArguments {
 public:
  ChromeRankWriter(GzipWriter& out, const RankToWrite& r, Ns base, std::int64_t first_pid,
                   bool& any)
      : out_(out),
        rank_(r.rank),
        trace_(*r.trace),
        marks_(r.marks),
        base_(base),
        first_pid_(first_pid),
        any_(any),
        processes_(rank_processes(r, first_pid)),
        linked_(linked_correlations(trace_)),
        arguments_(trace_) {}

  void write(const StopFlag* stop) {
    name_tracks();
    if (!processes_.list.empty()) write_marks(processes_.list[0].pid);
    for (const Track& track : trace_.tracks) write_track(track, stop);
    if (stop != nullptr && stop->requested()) return;
    for (std::size_t i = 0; i < trace_.memory.size(); ++i) write_memory(i);
    for (std::size_t i = 0; i < trace_.counters.size(); ++i)
      if (trace_.counters.slice[i] == no_slice) write_counter(i);
  }
  [[nodiscard]] std::int64_t next_pid() const {
    return first_pid_ + static_cast<std::int64_t>(processes_.list.size());
  }

 private:
  void name_tracks() {
    for (const RankProcess& process : processes_.list) {
      write_name("process_name", process.pid, 0, process.name);
      write_sort_index(process.pid);
    }
    for (std::size_t t = 0; t < trace_.tracks.size(); ++t)
      if (const std::string name = row_name(trace_, trace_.tracks[t]); !name.empty())
        write_name("thread_name", pid_of(t), tid_of(trace_.tracks[t]), name);
  }
  [[nodiscard]] std::int64_t pid_of(std::size_t track) const {
    return processes_.list[processes_.of_track[track]].pid;
  }

  void write_track(const Track& track, const StopFlag* stop) {
    const std::int64_t pid = pid_of(static_cast<std::size_t>(&track - trace_.tracks.data()));
    NestingRows rows;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (stop != nullptr && stop->requested()) return;
      const std::size_t known = rows.size();
      const Ns start = trace_.slices.start[i];
      const std::size_t row =
          track.device ? rows.place(start, trace_.slices.end(SliceId{i}), [](auto...) {}) : 0;
      if (rows.size() > known && row > 0) name_row(track, pid, row);
      write_slice(SliceId{i}, pid, tid_of(track) + static_cast<std::int64_t>(row) * second_row);
    }
  }

  void write_marks(std::int64_t pid) {
    NestingRows rows;
    for (const TraceMark& mark : in_row_order(marks_)) {
      const std::size_t known = rows.size();
      const std::size_t row = rows.place(mark.start, mark.start + mark.time, [](auto...) {});
      const std::int64_t tid = first_mark_row + static_cast<std::int64_t>(row);
      if (rows.size() > known) write_name("thread_name", pid, tid, marks_row);
      begin("X");
      text("cat", finding_category);
      text("name", mark.what);
      integer("pid", pid);
      integer("tid", tid);
      time("ts", mark.start - base_);
      time("dur", mark.time);
      open_args();
      if (!mark.advice.empty()) text("advice", mark.advice);
      text_ += '}';
      end();
    }
  }

  void name_row(const Track& track, std::int64_t pid, std::size_t row) {
    write_name("thread_name", pid, tid_of(track) + static_cast<std::int64_t>(row) * second_row,
               row_name(trace_, track) + " (" + std::to_string(row + 1) + ")");
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
  void integer(std::string_view key, std::int64_t value) override {
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
    if (const auto cat = cat_name(s.category[i]); !cat.empty()) text("cat", cat);
    text("name", trace_.name(id));
    integer("pid", pid);
    integer("tid", tid);
    time("ts", s.start[i] - base_);
    time("dur", s.dur[i]);
    open_args();
    arguments_.give(id, *this);
    text_ += '}';
    end();
    write_flow(id, pid, tid);
  }
  void real(std::string_view key, double value) override {
    text_ += ',';
    append_json_string(text_, key);
    text_ += ':' + nlohmann::json(value).dump();
  }
  void text(std::string_view key, StringId value) override { text(key, trace_.strings[value]); }
  // The list as in the file if that is JSON; otherwise a string.
  void list(std::string_view key, StringId id) override {
    const std::string_view value = trace_.strings[id];
    if (!nlohmann::json::accept(value)) return text(key, value);
    member(key);
    text_ += value;
  }

  // Writes the arrow from a launch to its device work.
  void write_flow(SliceId id, std::int64_t pid, std::int64_t tid) {
    const std::size_t i = index(id);
    const Category c = trace_.slices.category[i];
    const bool launch = is_launch(c);
    const std::uint32_t correlation = trace_.slices.correlation[i];
    if ((!launch && !is_device_work(c)) || !linked_.contains(correlation)) return;
    begin(launch ? "s" : "f");
    integer("id", flow_id(rank_, correlation));
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
    integer("pid", pid_of(index(m.track[i])));
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
    integer("pid", processes_.list.empty() ? first_pid_ : processes_.list[0].pid);
    time("ts", c.time[i] - base_);
    text_ += ",\"args\":{";
    append_json_string(text_, trace_.strings[c.metric[i]]);
    text_ += ":" + nlohmann::json(c.value[i]).dump() + "}";
    end();
  }

  GzipWriter& out_;
  int rank_;
  const Trace& trace_;
  const std::vector<TraceMark>& marks_;
  Ns base_;
  std::int64_t first_pid_;
  bool& any_;
  RankProcesses processes_;
  std::unordered_set<std::uint32_t> linked_;
  ArgumentsOf arguments_;
  std::string text_;
};

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
    ChromeRankWriter writer(*out, r, base, pid, any);
    writer.write(stop);
    pid = writer.next_pid();
  }
  if (stop != nullptr && stop->requested()) return interrupted(path);
  out->write("\n]}\n");
  return out->commit();
}

}  // namespace stepscope
