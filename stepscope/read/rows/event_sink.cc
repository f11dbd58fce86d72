// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/event_sink.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "stepscope/event/finding_category.h"
#include "stepscope/read/rows/event_category.h"
#include "stepscope/read/rows/event_mend.h"
#include "stepscope/read/rows/number.h"

namespace stepscope {
namespace {

// Values beyond these (ns) are damage: three years before the origin, the year 2112, a month. Sums
// with any base time, and differences, fit 64 bits.
constexpr std::int64_t earliest = -100'000'000'000'000'000;
constexpr std::int64_t latest = 4'500'000'000'000'000'000;
constexpr std::int64_t longest = 2'600'000'000'000'000;

// So are more than a pebibyte and tensors of more than 2^40 elements. Then sums over a trace, and
// elements times their size and the ranks of a group, fit 64 bits too.
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr std::int64_t most_elements = std::int64_t{1} << 40;

std::int64_t integer(const RawEvent& event, Field field, std::int64_t absent = -1) {
  std::int64_t v = absent;
  return event.has(field) && read_integer(event[field], v) ? v : absent;
}

std::int32_t integer32(const RawEvent& event, Field field, std::int32_t absent = -1) {
  const std::int64_t v = integer(event, field, absent);
  return v >= std::numeric_limits<std::int32_t>::min() &&
                 v <= std::numeric_limits<std::int32_t>::max()
             ? static_cast<std::int32_t>(v)
             : absent;
}

// Correlation and external ids fit 32 bits in every known writer. Wider ones are folded.
std::uint32_t link_id(const RawEvent& event, Field field) {
  const std::int64_t v = integer(event, field, 0);
  if (v <= 0) return 0;
  const auto wide = static_cast<std::uint64_t>(v);
  return static_cast<std::uint32_t>(wide ^ wide >> 32);
}

// Indented writers spread "[[8, 16], []]" over lines. The shape is the same.
std::string_view without_line_breaks(std::string_view list, std::vector<char>& room) {
  if (room.size() < list.size()) room.resize(list.size());
  char* out = room.data();
  const char* const end = list.data() + list.size();
  for (const char* c = list.data(); c < end;) {
    if (*c != '\n') {
      *out++ = *c++;
      continue;
    }
    while (c < end && (*c == ' ' || *c == '\n')) ++c;
    if (out > room.data() && out[-1] == ',') *out++ = ' ';
  }
  return {room.data(), out};
}

bool is_device_row(Category c) {
  return is_device_work(c) || c == Category::gpu_annotation || c == Category::sync ||
         c == Category::device_event || c == Category::profiler_range;
}

}  // namespace

void EventSink::reserve(std::size_t slices) {
  const auto room = [&](auto&... columns) { (columns.reserve(slices), ...); };
  Slices& s = trace_.slices;
  room(s.start, s.dur, s.name, s.track, s.category, s.correlation, s.external_id, s.detail);
}

EventSink::EventSink() { trace_.metadata.format = "kineto"; }

void EventSink::add(const RawEvent& event, std::uint64_t byte) {
  ++trace_.notes.events;
  if (!event.has(Field::ph) || event[Field::ph].size != 1) return note("event_without_phase", byte);
  switch (*event[Field::ph].at) {
    case 'X':
      return add_complete(event, byte);
    case 'B':
      return add_edge(event, byte, true);
    case 'E':
      return add_edge(event, byte, false);
    case 'M':
      return add_metadata(event, byte);
    case 'C':
      return add_counter(event, byte);
    case 'i':
    case 'I':
    case 'R':
      return add_memory(event, byte);
    case 'b':
    case 'S':
      return note("asynchronous_row", byte);
    // Flows repeat the correlation ids. Object events hold no data that is accounted for, and
    // asynchronous ones were counted where they begin.
    case 's':
    case 't':
    case 'f':
    case 'n':
    case 'e':
    case 'T':
    case 'F':
    case 'p':
    case 'N':
    case 'O':
    case 'D':
    case 'P':
    case 'v':
    case 'V':
    case 'c':
    case '(':
    case ')':
      return;
    default:
      note("unknown_phase", byte);
  }
}

bool EventSink::in_range(Ns time) { return time.count() >= earliest && time.count() <= latest; }

bool EventSink::read_time(const RawEvent& event, std::uint64_t byte, Ns& into) {
  const char* problem = nullptr;
  if (!event.has(Field::ts))
    problem = "missing_timestamp";
  else if (!read_microseconds(event[Field::ts], into))
    problem = "unreadable_timestamp";
  else if (!in_range(into))
    problem = "timestamp_out_of_range";
  if (problem != nullptr) note(problem, byte);
  return problem == nullptr;
}

std::int64_t EventSink::size_of(const RawEvent& event, Field field, std::int64_t most,
                                std::uint64_t byte, std::int64_t absent) {
  const std::int64_t v = integer(event, field, absent);
  if (v >= -most && v <= most) return v;
  note("size_out_of_range", byte);
  return absent;
}

EventSink::Id EventSink::id_of(const RawEvent& event, Field field) {
  if (!event.has(field)) return {};
  const RawValue& value = event[field];
  if (const auto number = parse_integer(value)) {
    // "1f" or "stream 7" are names, not numbers.
    const bool whole = value.kind == ValueKind::scalar ||
                       value.text().find_first_not_of(
                           "0123456789", value.text()[0] == '-' ? 1 : 0) == std::string_view::npos;
    if (whole) return {*number, empty_string};
  }
  return {0, text_of(event, field)};
}

// HIP writes "0x0".
EventSink::Id EventSink::stream_of(const RawEvent& event) {
  if (event[Field::stream].text().starts_with("0x"))
    if (const auto number = parse_integer(event[Field::stream])) return {*number, empty_string};
  return id_of(event, Field::stream);
}

StringId EventSink::text_of(const RawEvent& event, Field field) {
  if (!event.has(field)) return empty_string;
  std::string_view text = event[field].text();
  if (event[field].kind == ValueKind::string && text.find('\\') != std::string_view::npos)
    return trace_.strings.intern(unescape(text));
  if (event[field].kind == ValueKind::composite && text.find('\n') != std::string_view::npos)
    return trace_.strings.intern(without_line_breaks(text, list_room_));
  while (event[field].kind == ValueKind::scalar && !text.empty() &&
         (text.back() == ',' || (text.back() >= 0 && text.back() <= ' ')))
    text.remove_suffix(1);
  return trace_.strings.intern(text);
}

Category EventSink::category_of(const RawEvent& event, std::string_view name, const Id& pid) {
  if (!event.has(Field::cat) || event[Field::cat].size == 0)
    return legacy_category(trace_.strings[pid.text], name);
  const std::string_view cat = event[Field::cat].text();
  if (cat == last_category_text_ && cat != "mtia_ccp_events") return last_category_;
  last_category_ = stepscope::category_of(cat, name).value_or(Category::other);
  last_category_text_ = trace_.strings[trace_.strings.intern(cat)];
  categorized_ = true;
  return last_category_;
}

TrackId EventSink::track_of(const RawEvent& event, Category category, const Id& pid,
                            std::uint64_t byte) {
  // The stream of device work is the argument's, if present: writers put overlapping kernels on
  // separate rows.
  const bool by_stream = is_device_work(category) && event.has(Field::stream);
  const TrackKey key{pid, by_stream ? stream_of(event) : id_of(event, Field::tid),
                     is_device_row(category)};
  if (key == last_key_ && !trace_.tracks.empty()) return last_track_;
  const auto at = track_ids_.find(key);
  last_track_ = at != track_ids_.end() ? at->second : add_track(event, key, byte);
  last_key_ = key;
  return last_track_;
}

TrackId EventSink::add_track(const RawEvent& event, const TrackKey& key, std::uint64_t byte) {
  const TrackId id{static_cast<std::uint32_t>(trace_.tracks.size())};
  Track track{.pid = key.pid.number,
              .tid = key.tid.number,
              .pid_text = key.pid.text,
              .tid_text = key.tid.text,
              .device = key.device};
  if (key.device) {
    const bool is_index = key.pid.text == empty_string && key.pid.number >= 0 &&
                          key.pid.number <= std::numeric_limits<std::int32_t>::max();
    track.device_index =
        integer32(event, Field::device, is_index ? static_cast<std::int32_t>(key.pid.number) : 0);
  }
  trace_.tracks.push_back(track);
  origins_.push_back({byte, track.device_index});
  track_ids_.emplace(key, id);
  return id;
}

void EventSink::add_complete(const RawEvent& event, std::uint64_t byte) {
  if (event.has(Field::cat) && event[Field::cat].text() == finding_category) return;
  Ns start{};
  if (!read_time(event, byte, start)) return;
  Ns dur{};
  if (!event.has(Field::dur)) {
    note("missing_duration", byte);
  } else if (!read_microseconds(event[Field::dur], dur)) {
    note("unreadable_duration", byte);
  }
  if (dur.count() < 0 || dur.count() > longest) {
    note(dur.count() < 0 ? "negative_duration" : "duration_out_of_range", byte);
    dur = Ns{};
  }
  const Id pid = id_of(event, Field::pid);
  const StringId name = text_of(event, Field::name);
  const Category category = category_of(event, trace_.strings[name], pid);
  const SliceId slice = append(trace_, {.start = start,
                                        .dur = dur,
                                        .name = name,
                                        .track = track_of(event, category, pid, byte),
                                        .category = category,
                                        .correlation = link_id(event, Field::correlation),
                                        .external_id = link_id(event, Field::external_id),
                                        .detail = add_detail(event, category, name, byte)});
  if (event.has(Field::collective_name) ||
      (event.has(Field::group_name) && event.has(Field::in_elements)))
    add_collective(event, slice, byte);
  if (category == Category::profiler_range) add_range_metrics(event, slice, start);
}

// Only these operators need the scalars of their inputs. The scalars of c10d's operators name roots
// and peers, those of Inductor's kernels are the sizes over which they iterate.
bool EventSink::keeps_concrete_inputs(StringId name) {
  if (concrete_.size() <= index(name)) concrete_.resize(trace_.strings.size() + 64, -1);
  std::int8_t& known = concrete_[index(name)];
  if (known < 0) {
    const std::string_view text = trace_.strings[name];
    const auto holds = [&](std::string_view part) {
      return text.find(part) != std::string_view::npos;
    };
    const bool kept = holds("conv") || holds("attention") || holds("attn") || holds("sdpa") ||
                      holds("einsum") || text.starts_with("c10d::") || text.starts_with("triton_");
    known = kept ? 1 : 0;
  }
  return known == 1;
}

std::uint32_t EventSink::add_detail(const RawEvent& event, Category category, StringId name,
                                    std::uint64_t byte) {
  const auto row = [](std::size_t size) { return static_cast<std::uint32_t>(size); };
  switch (category) {
    case Category::cpu_op:
    case Category::user_annotation: {
      constexpr std::uint64_t any = 1ULL << static_cast<unsigned>(Field::input_dims) |
                                    1ULL << static_cast<unsigned>(Field::sequence) |
                                    1ULL << static_cast<unsigned>(Field::forward_thread);
      if ((event.seen & any) == 0) return no_row;
      OpDetails& ops = trace_.ops;
      ops.input_dims.push_back(text_of(event, Field::input_dims));
      ops.input_types.push_back(text_of(event, Field::input_types));
      ops.concrete_inputs.push_back(event.has(Field::concrete_inputs) && keeps_concrete_inputs(name)
                                        ? text_of(event, Field::concrete_inputs)
                                        : empty_string);
      ops.sequence.push_back(integer32(event, Field::sequence));
      ops.forward_thread.push_back(integer32(event, Field::forward_thread, 0));
      return row(ops.size() - 1);
    }
    case Category::memcpy:
    case Category::memset:
      trace_.copies.bytes.push_back(Bytes{
          size_of(event, event.has(Field::bytes) ? Field::bytes : Field::size, most_bytes, byte)});
      return row(trace_.copies.size() - 1);
    case Category::sync:
      trace_.syncs.stream.push_back(integer32(event, Field::stream));
      trace_.syncs.wait_on_stream.push_back(integer32(event, Field::wait_on_stream));
      trace_.syncs.wait_on_record_correlation.push_back(integer32(event, Field::wait_on_record));
      return row(trace_.syncs.size() - 1);
    default:
      return no_row;
  }
}

void EventSink::add_collective(const RawEvent& event, SliceId slice, std::uint64_t byte) {
  trace_.collectives.push_back(
      {.slice = slice,
       .name = text_of(event, Field::collective_name),
       .dtype = text_of(event, Field::dtype),
       .group_name = text_of(event, Field::group_name),
       .group_description = text_of(event, Field::group_description),
       .group_ranks = text_of(event, Field::group_ranks),
       .in_split = text_of(event, Field::in_split),
       .out_split = text_of(event, Field::out_split),
       .in_elements = size_of(event, Field::in_elements, most_elements, byte),
       .out_elements = size_of(event, Field::out_elements, most_elements, byte),
       .seq = integer(event, Field::seq),
       .group_size = integer32(event, Field::group_size),
       .global_rank_start = integer32(event, Field::rank_start),
       .global_rank_stride = integer32(event, Field::rank_stride),
       .src_rank = integer32(event, Field::src_rank),
       .dst_rank = integer32(event, Field::dst_rank),
       .rank = integer32(event, Field::rank),
       .is_async = integer(event, Field::is_async, 0) != 0});
}

void EventSink::add_range_metrics(const RawEvent& event, SliceId slice, Ns time) {
  if (!event.has(Field::args)) return;
  walk_members(event[Field::args].text(), [&](std::string_view key, const RawValue& value) {
    // A merged trace also writes the device and rank of a range with its metrics.
    if (slice != no_slice && (key == "device" || key == "rank")) return;
    const auto number = parse_real(value);
    if (number && value.kind != ValueKind::composite) add_reading(time, key, *number, slice);
  });
}

void EventSink::add_reading(Ns time, std::string_view metric, double value, SliceId slice) {
  trace_.counters.time.push_back(time);
  trace_.counters.metric.push_back(trace_.strings.intern(metric));
  trace_.counters.value.push_back(value);
  trace_.counters.slice.push_back(slice);
}

void EventSink::add_edge(const RawEvent& event, std::uint64_t byte, bool begin) {
  Ns time{};
  if (!read_time(event, byte, time)) return;
  Edge edge{.time = time,
            .byte = byte,
            .pid = id_of(event, Field::pid),
            .tid = id_of(event, Field::tid),
            .name = text_of(event, Field::name),
            .begin = begin};
  if (begin) {
    edge.category = category_of(event, trace_.strings[edge.name], edge.pid);
    edge.track = track_of(event, edge.category, edge.pid, byte);
  }
  edges_.push_back(edge);
}

void EventSink::add_metadata(const RawEvent& event, std::uint64_t byte) {
  if (!event.has(Field::name) || !event.has(Field::arg_name)) return;
  const std::string_view what = event[Field::name].text();
  const bool thread = what == "thread_name";
  if (!thread && what != "process_name") return;
  names_.push_back({id_of(event, Field::pid), thread ? id_of(event, Field::tid) : Id{},
                    text_of(event, Field::arg_name), byte, thread});
}

void EventSink::add_memory(const RawEvent& event, std::uint64_t byte) {
  if (!event.has(Field::address) && !event.has(Field::total_allocated)) return;
  Ns time{};
  if (!read_time(event, byte, time)) return;
  MemoryEvents& m = trace_.memory;
  m.time.push_back(time);
  m.track.push_back(track_of(event, Category::cpu_op, id_of(event, Field::pid), byte));
  m.address.push_back(static_cast<std::uint64_t>(integer(event, Field::address, 0)));
  m.bytes.push_back(Bytes{size_of(event, Field::bytes, most_bytes, byte, 0)});
  m.total_allocated.push_back(Bytes{size_of(event, Field::total_allocated, most_bytes, byte)});
  m.total_reserved.push_back(Bytes{size_of(event, Field::total_reserved, most_bytes, byte)});
  const bool on_cpu = integer(event, Field::device_type, 1) == 0;
  m.device.push_back(on_cpu ? std::int16_t{-1}
                            : static_cast<std::int16_t>(integer32(event, Field::device_id)));
}

void EventSink::add_counter(const RawEvent& event, std::uint64_t byte) {
  Ns time{};
  if (read_time(event, byte, time)) add_range_metrics(event, no_slice, time);
}

void EventSink::begin_chunk(std::uint64_t number) {
  const auto size = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
  marks_.push_back({number,
                    {.first_slice = size(trace_.slices.size()),
                     .first_memory = size(trace_.memory.size()),
                     .first_counter = size(trace_.counters.size())}});
}

EventSink EventSink::join(std::vector<EventSink>&& parts, unsigned threads) {
  std::vector<Trace> traces;
  std::vector<Mark> marks;
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    traces.push_back(std::move(parts[p].trace_));
    for (Mark& mark : parts[p].marks_) mark.rows.part = p;
    marks.insert(marks.end(), parts[p].marks_.begin(), parts[p].marks_.end());
  }
  std::ranges::sort(marks, {}, &Mark::chunk);
  std::vector<RowStretch> stretches;
  std::ranges::transform(marks, std::back_inserter(stretches), &Mark::rows);
  auto [trace, maps] = stepscope::join(std::move(traces), stretches, threads);

  EventSink all;
  std::vector<std::uint64_t> first(trace.tracks.size(), std::numeric_limits<std::uint64_t>::max());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    all.categorized_ = all.categorized_ || parts[p].categorized_;
    const AbsorbMap& map = maps[p];
    const auto moved = [&](Id id) { return Id{id.number, map.strings[index(id.text)]}; };
    for (const TrackName& n : parts[p].names_)
      all.names_.push_back(
          {moved(n.pid), moved(n.tid), map.strings[index(n.name)], n.byte, n.thread});
    for (Edge edge : parts[p].edges_) {
      if (edge.begin) edge.track = map.tracks[index(edge.track)];
      edge.pid = moved(edge.pid);
      edge.tid = moved(edge.tid);
      edge.name = map.strings[index(edge.name)];
      all.edges_.push_back(edge);
    }
    // The device of a track is the one in its first event in the file.
    for (std::size_t t = 0; t < map.tracks.size(); ++t) {
      const Origin& origin = parts[p].origins_[t];
      const std::uint32_t to = index(map.tracks[t]);
      if (origin.byte >= first[to]) continue;
      first[to] = origin.byte;
      trace.tracks[to].device_index = origin.device_index;
    }
  }
  all.trace_ = std::move(trace);
  return all;
}

Trace EventSink::finish() {
  pair_edges(trace_, std::move(edges_));
  name_tracks(trace_, std::move(names_));
  order_tracks(trace_);
  return std::move(trace_);
}

}  // namespace stepscope
