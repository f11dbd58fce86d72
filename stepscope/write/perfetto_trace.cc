// SPDX-License-Identifier: Apache-2.0
// The whole file is one packet sequence. Repeated texts are interned: the packet that first needs a
// text gives it a number. Slices are written track by track, so the begins and ends of a track are
// in the required time order; different tracks are not.
#include "stepscope/write/perfetto_trace.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "stepscope/base/proto_wire.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/event/finding_category.h"
#include "stepscope/write/gzip_writer.h"
#include "stepscope/write/rank_metadata.h"

namespace stepscope {
namespace {

constexpr std::uint64_t sequence_id = 1;
constexpr std::uint64_t state_cleared = 1;
constexpr std::uint64_t needs_state = 2;
constexpr std::uint64_t realtime_clock = 1;
constexpr std::uint64_t boottime_clock = 6;  // the default of packets
constexpr std::uint64_t explicit_order = 3;

enum EventType : std::uint64_t { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };

// Fields of InternedData.
enum Interned : std::uint32_t {
  event_categories = 1,
  event_names = 2,
  annotation_names = 3,
  annotation_texts = 29,
};

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Writes packets one at a time: begin_event, arguments, end_event.
class PacketWriter {
 public:
  explicit PacketWriter(GzipWriter& out) : out_(out) {}

  void first(Ns base) {
    std::string clocks;
    for (const std::uint64_t id : {boottime_clock, realtime_clock}) {
      std::string clock;
      append_number(clock, 1, id);
      append_number(clock, 2, bits(base.count()));
      append_bytes(clocks, 1, clock);
    }
    std::string packet;
    if (base.count() > 0) {
      append_number(packet, 8, bits(base.count()));
      append_bytes(packet, 6, clocks);
    }
    append_number(packet, 13, state_cleared);
    put(packet);
  }
  std::uint64_t describe(std::string& descriptor) {
    const std::uint64_t uuid = ++tracks_;
    append_number(descriptor, 1, uuid);
    std::string packet;
    append_bytes(packet, 60, descriptor);
    put(packet);
    return uuid;
  }

  void begin_event(EventType type, std::uint64_t track) {
    event_.clear();
    append_number(event_, 9, type);
    append_number(event_, 11, track);
  }
  void category(std::string_view text) { append_number(event_, 3, iid(event_categories, text)); }
  void name(std::string_view text) {
    if (!text.empty()) append_number(event_, 10, iid(event_names, text));
  }
  void flow(std::uint64_t id) { append_fixed64(event_, 47, id); }
  void counter_value(double value) { append_real(event_, 44, value); }
  void integer(std::string_view key, std::int64_t value) {
    begin_annotation(key);
    append_number(annotation_, 4, bits(value));
    append_bytes(event_, 4, annotation_);
  }
  void real(std::string_view key, double value) {
    begin_annotation(key);
    append_real(annotation_, 5, value);
    append_bytes(event_, 4, annotation_);
  }
  // A text that may repeat.
  void text(std::string_view key, std::string_view value) {
    begin_annotation(key);
    append_number(annotation_, 17, iid(annotation_texts, value));
    append_bytes(event_, 4, annotation_);
  }
  void single_text(std::string_view key, std::string_view value) {
    begin_annotation(key);
    append_bytes(annotation_, 6, value);
    append_bytes(event_, 4, annotation_);
  }
  void end_event(Ns time) {
    packet_.clear();
    append_number(packet_, 8, bits(time.count()));
    append_number(packet_, 13, needs_state);
    if (!interned_.empty()) append_bytes(packet_, 12, interned_);
    interned_.clear();
    append_bytes(packet_, 11, event_);
    put(packet_);
  }

 private:
  void put(std::string& packet) {
    append_number(packet, 10, sequence_id);
    framed_.clear();
    append_bytes(framed_, 1, packet);
    out_.write(framed_);
  }
  void begin_annotation(std::string_view key) {
    annotation_.clear();
    append_number(annotation_, 1, iid(annotation_names, key));
  }
  // The number of a text. A new text is written with this packet.
  std::uint64_t iid(Interned kind, std::string_view text) {
    const StringId id = texts_.intern(text);
    std::vector<bool>& known = known_[kind];
    if (known.size() <= index(id)) known.resize(index(id) + 64);
    if (!known[index(id)]) {
      known[index(id)] = true;
      std::string entry;
      append_number(entry, 1, index(id) + 1);
      append_bytes(entry, 2, text);
      append_bytes(interned_, kind, entry);
    }
    return index(id) + 1;
  }

  GzipWriter& out_;
  StringPool texts_;
  std::unordered_map<std::uint32_t, std::vector<bool>> known_;  // texts with a number, by kind
  std::uint64_t tracks_ = 0;
  std::string event_;
  std::string annotation_;
  std::string interned_;
  std::string packet_;
  std::string framed_;
};

class PerfettoRankWriter final : public SliceArguments {
 public:
  PerfettoRankWriter(PacketWriter& out, const RankToWrite& r, Ns shift, std::int64_t first_pid)
      : out_(out),
        rank_(r.rank),
        trace_(*r.trace),
        marks_(r.marks),
        shift_(shift),
        processes_(rank_processes(r, first_pid)),
        linked_(linked_correlations(trace_)),
        arguments_(trace_) {}

  void write(const StopFlag* stop) {
    if (processes_.list.empty()) return;
    for (const RankProcess& process : processes_.list) describe_process(process);
    for (std::size_t t = 0; t < trace_.tracks.size(); ++t)
      track_uuids_.push_back(describe_row(t, 0));
    write_metadata();
    write_marks();
    for (std::size_t t = 0; t < trace_.tracks.size(); ++t) {
      if (stop != nullptr && stop->requested()) return;
      write_track(t);
    }
    for (std::size_t i = 0; i < trace_.memory.size(); ++i) write_memory(i);
    write_counters();
  }
  [[nodiscard]] std::size_t processes() const { return processes_.list.size(); }

  void integer(std::string_view key, std::int64_t value) override { out_.integer(key, value); }
  void real(std::string_view key, double value) override { out_.real(key, value); }
  void text(std::string_view key, StringId value) override {
    out_.text(key, trace_.strings[value]);
  }
  void list(std::string_view key, StringId value) override { text(key, value); }

 private:
  void describe_process(const RankProcess& process) {
    std::string inner;
    append_number(inner, 1, bits(process.pid));
    append_bytes(inner, 6, process.name);
    std::string descriptor;
    append_bytes(descriptor, 3, inner);
    if (process.device) append_number(descriptor, 11, explicit_order);
    process_uuids_.push_back(out_.describe(descriptor));
  }

  // Threads are described by their ids. Streams, which are not threads, and further rows are
  // described by name. The description gives the profiler's row.
  std::uint64_t describe_row(std::size_t t, std::size_t row) {
    const Track& track = trace_.tracks[t];
    const std::size_t process = processes_.of_track[t];
    const std::int64_t tid = tid_of(track);
    const std::string name = row_name(trace_, track);
    std::string descriptor;
    if (!track.device && row == 0) {
      std::string inner;
      append_number(inner, 1, bits(processes_.list[process].pid));
      append_number(inner, 2, bits(tid));
      if (!name.empty()) append_bytes(inner, 5, name);
      append_number(descriptor, 5, process_uuids_[process]);
      append_bytes(descriptor, 4, inner);
    } else {
      append_number(descriptor, 5, track.device ? process_uuids_[process] : track_uuids_[t]);
      append_bytes(descriptor, 2, name.empty() ? "thread " + std::to_string(tid) : name);
      append_bytes(descriptor, 14, "tid " + std::to_string(tid));
      if (tid >= 0 && tid <= std::numeric_limits<std::int32_t>::max())
        append_number(descriptor, 12, bits(tid));
    }
    return out_.describe(descriptor);
  }

  // The metadata of the rank's file, where viewers find it too.
  void write_metadata() {
    out_.begin_event(EventType::instant, process_uuids_[0]);
    out_.category("stepscope");
    out_.name("rank metadata");
    out_.single_text("stepscopeRanks",
                     rank_metadata(rank_, trace_.metadata)
                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    Ns first = Ns::max();
    for (const std::vector<Ns>* column :
         {&trace_.slices.start, &trace_.memory.time, &trace_.counters.time})
      for (const Ns t : *column) first = std::min(first, t);
    out_.end_event(first == Ns::max() ? Ns{} : first + shift_);
  }

  void write_marks() {
    std::vector<std::uint64_t> uuids;
    NestingRows rows;
    const auto ended = [&](std::size_t row, Ns end) {
      out_.begin_event(EventType::slice_end, uuids[row]);
      out_.end_event(end + shift_);
    };
    for (const TraceMark& mark : in_row_order(marks_)) {
      const std::size_t row = rows.place(mark.start, mark.start + mark.time, ended);
      if (row == uuids.size()) {
        std::string descriptor;
        append_number(descriptor, 5, process_uuids_[0]);
        append_bytes(descriptor, 2, marks_row);
        uuids.push_back(out_.describe(descriptor));
      }
      out_.begin_event(EventType::slice_begin, uuids[row]);
      out_.category(finding_category);
      out_.name(mark.what);
      if (!mark.advice.empty()) out_.text("advice", mark.advice);
      out_.end_event(mark.start + shift_);
    }
    rows.finish(ended);
  }

  void write_track(std::size_t t) {
    const Track& track = trace_.tracks[t];
    std::vector<std::uint64_t> uuids{track_uuids_[t]};
    NestingRows rows;
    const auto ended = [&](std::size_t row, Ns end) {
      out_.begin_event(EventType::slice_end, uuids[row]);
      out_.end_event(end + shift_);
    };
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const SliceId id{i};
      const std::size_t row = rows.place(trace_.slices.start[i], trace_.slices.end(id), ended);
      if (row == uuids.size()) uuids.push_back(describe_row(t, row));
      write_begin(id, uuids[row]);
    }
    rows.finish(ended);
  }

  void write_begin(SliceId id, std::uint64_t uuid) {
    const std::size_t i = index(id);
    const Slices& s = trace_.slices;
    const Category c = s.category[i];
    const std::string_view cat = cat_name(c);
    out_.begin_event(EventType::slice_begin, uuid);
    out_.category(cat.empty() ? "other" : cat);
    out_.name(trace_.name(id));
    if ((is_launch(c) || is_device_work(c)) && linked_.contains(s.correlation[i]))
      out_.flow(bits(flow_id(rank_, s.correlation[i])));
    arguments_.give(id, *this);
    out_.end_event(s.start[i] + shift_);
  }

  void write_memory(std::size_t i) {
    const MemoryEvents& m = trace_.memory;
    out_.begin_event(EventType::instant, track_uuids_[index(m.track[i])]);
    out_.category("cpu_instant_event");
    out_.name("[memory]");
    out_.integer("Device Type", m.device[i] < 0 ? 0 : 1);
    out_.integer("Device Id", m.device[i]);
    out_.integer("Addr", static_cast<std::int64_t>(m.address[i]));
    out_.integer("Bytes", m.bytes[i].value);
    if (m.total_allocated[i].value >= 0)
      out_.integer("Total Allocated", m.total_allocated[i].value);
    if (m.total_reserved[i].value >= 0) out_.integer("Total Reserved", m.total_reserved[i].value);
    out_.end_event(m.time[i] + shift_);
  }

  // A counter track for each metric.
  void write_counters() {
    const Counters& c = trace_.counters;
    std::unordered_map<std::uint32_t, std::uint64_t> uuids;
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (c.slice[i] != no_slice) continue;
      const auto [at, fresh] = uuids.try_emplace(index(c.metric[i]), 0);
      if (fresh) {
        std::string descriptor;
        append_number(descriptor, 5, process_uuids_[0]);
        append_bytes(descriptor, 2, trace_.strings[c.metric[i]]);
        append_bytes(descriptor, 8, {});
        at->second = out_.describe(descriptor);
      }
      out_.begin_event(EventType::counter, at->second);
      out_.counter_value(c.value[i]);
      out_.end_event(c.time[i] + shift_);
    }
  }

  PacketWriter& out_;
  int rank_;
  const Trace& trace_;
  const std::vector<TraceMark>& marks_;
  Ns shift_;
  RankProcesses processes_;
  std::unordered_set<std::uint32_t> linked_;
  ArgumentsOf arguments_;
  std::vector<std::uint64_t> process_uuids_;
  std::vector<std::uint64_t> track_uuids_;  // of each track's first row
};

// Instants of the format are not negative, so a relative clock with negative instants is shifted.
Ns shift_of(std::span<const RankToWrite> ranks) {
  Ns first{};
  for (const RankToWrite& r : ranks)
    for (const std::vector<Ns>* column :
         {&r.trace->slices.start, &r.trace->memory.time, &r.trace->counters.time})
      for (const Ns t : *column) first = std::min(first, t);
  return -first;
}

}  // namespace

Result<Done> write_perfetto_trace(std::span<const RankToWrite> ranks, const std::string& path,
                                  const StopFlag* stop) {
  auto file = GzipWriter::create(path);
  if (!file) return file.error();
  PacketWriter out(*file);
  out.first(common_base(ranks));
  const Ns shift = shift_of(ranks);
  std::int64_t pid = 1;
  for (const RankToWrite& r : ranks) {
    PerfettoRankWriter writer(out, r, shift, pid);
    writer.write(stop);
    pid += static_cast<std::int64_t>(writer.processes());
  }
  if (stop != nullptr && stop->requested()) return interrupted(path);
  return file->commit();
}

}  // namespace stepscope
