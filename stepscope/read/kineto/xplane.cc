// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kineto/xplane.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "stepscope/base/proto_wire.h"
#include "stepscope/read/bytes/microseconds.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/rows/event_sink.h"
#include "stepscope/read/rows/stray_rows.h"

namespace stepscope {
namespace {

constexpr std::size_t events_between_looks = 4096;  // events between two checks of the stop flag
constexpr std::string_view gpu_plane = "/device:GPU:";
constexpr std::string_view environment_plane = "Task Environment";

std::int64_t as_signed(std::uint64_t number) { return static_cast<std::int64_t>(number); }

// Names that events and their statistics refer to by number.
using NameTable = std::unordered_map<std::uint64_t, std::string_view>;

struct Plane {
  std::string_view name;
  std::vector<std::string_view> lines;
  NameTable events;
  NameTable statistics;
  std::vector<std::string_view> own;  // XStat
};

// An entry of map<int64, XEventMetadata> or map<int64, XStatMetadata>.
void add_name(std::string_view entry, NameTable& table) {
  std::uint64_t key = 0;
  std::string_view value;
  std::string_view name;
  take_fields(entry, ProtoInto(1, key), ProtoInto(2, value));
  take_fields(value, ProtoInto(2, name));
  table[key] = name;
}

Plane plane_of(std::string_view bytes) {
  Plane plane;
  std::vector<std::string_view> events;
  std::vector<std::string_view> statistics;
  take_fields(bytes, ProtoInto(2, plane.name), ProtoInto(3, plane.lines), ProtoInto(4, events),
              ProtoInto(5, statistics), ProtoInto(6, plane.own));
  for (const std::string_view entry : events) add_name(entry, plane.events);
  for (const std::string_view entry : statistics) add_name(entry, plane.statistics);
  return plane;
}

struct Statistic {
  std::string_view name;
  std::optional<std::int64_t> number;
  std::string_view text;
};

Statistic statistic_of(std::string_view bytes, const Plane& plane) {
  Statistic s;
  const auto named = [&](std::uint64_t id) {
    const auto at = plane.statistics.find(id);
    return at == plane.statistics.end() ? std::string_view() : at->second;
  };
  for (ProtoFields f(bytes); f.next();) switch (f.field()) {
      case 1:
        s.name = named(f.number());
        break;
      case 3:
      case 4:
        s.number = as_signed(f.number());
        break;
      case 5:
        s.text = f.bytes();
        break;
      case 7:
        s.text = named(f.number());
        break;
      default:
        break;
    }
  return s;
}

struct Line {
  std::uint64_t id = 0;
  std::string_view name;
  std::int64_t begin_ns = 0;
  std::vector<std::string_view> events;
};

Line line_of(std::string_view bytes) {
  Line line;
  take_fields(bytes, ProtoInto(1, line.id), ProtoInto(2, line.name), ProtoInto(3, line.begin_ns),
              ProtoInto(4, line.events));
  return line;
}

struct Event {
  std::string_view name;
  std::int64_t offset_ps = 0;
  std::int64_t duration_ps = 0;
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> step;
  bool of_hlo = false;     // an operation of XLA
  bool is_copy = false;    // with memcpy_details
  bool is_memset = false;  // with memset_details
};

Event event_of(std::string_view bytes, const Plane& plane) {
  Event event;
  for (ProtoFields f(bytes); f.next();) switch (f.field()) {
      case 1:
        if (const auto at = plane.events.find(f.number()); at != plane.events.end())
          event.name = at->second;
        break;
      case 2:
        event.offset_ps = as_signed(f.number());
        break;
      case 3:
        event.duration_ps = as_signed(f.number());
        break;
      case 4: {
        const Statistic s = statistic_of(f.bytes(), plane);
        if (s.name == "correlation_id") event.correlation = s.number;
        if (s.name == "step_num") event.step = s.number;
        event.of_hlo = event.of_hlo || s.name == "hlo_op";
        event.is_copy = event.is_copy || s.name == "memcpy_details";
        event.is_memset = event.is_memset || s.name == "memset_details";
        break;
      }
      default:
        break;
    }
  return event;
}

// Python's rows are "$file.py:12 function"; calls of CUDA and HIP have their own names. `calls`:
// the plane has nothing else. On ROCm they stand among the host's rows, with their correlation.
std::string_view host_category(const Event& event, bool calls) {
  const bool runtime = event.name.starts_with("cuda") || event.name.starts_with("hip");
  const bool driver = event.name.starts_with("cu") || event.name.starts_with("hsa_");
  if (calls || (event.correlation && (runtime || driver)))
    return runtime ? "cuda_runtime" : "cuda_driver";
  if (event.step) return "user_annotation";
  if (event.name.starts_with('$')) return "python_function";
  return event.of_hlo ? "cpu_op" : "user_annotation";
}

std::string_view device_category(const Event& event) {
  if (event.is_copy || event.name.starts_with("Memcpy")) return "gpu_memcpy";
  if (event.is_memset || event.name.starts_with("Memset")) return "gpu_memset";
  return "kernel";
}

class XplaneRows {
 public:
  XplaneRows(const std::string& path, const ReadControl& control) : path_(path), control_(control) {
    sink_.begin_chunk(0);
  }

  // Sets the origin of the instants, if the profile has it.
  void set_base(std::int64_t base_ns) { base_ns_ = base_ns; }
  [[nodiscard]] ImportNotes& notes() { return sink_.notes(); }

  Result<bool> add(const Plane& plane) {
    const bool calls = plane.name == "/host:CUPTI" || plane.name == "/host:ROCTRACER";
    const bool host = calls || plane.name == "/host:CPU" || plane.name.starts_with("/host:python");
    const bool device = plane.name.starts_with(gpu_plane);
    for (const std::string_view bytes : plane.lines) {
      const Line line = line_of(bytes);
      // Reads streams; the other lines of a GPU repeat them by module and by step.
      const bool read = host || (device && line.name.starts_with("Stream"));
      if (!read) {
        left_out_ += line.events.size();
        continue;
      }
      if (auto stop = add_line(plane, line, host, calls); !stop) return stop;
    }
    return true;
  }

  Trace finish() {
    if (left_out_ > 0) sink_.notes().add("rows_not_of_a_stream", 0, left_out_);
    return sink_.finish();
  }

 private:
  Result<bool> add_line(const Plane& plane, const Line& line, bool host, bool calls) {
    const std::string pid = host ? std::string("1") : device_number(plane.name);
    const std::string tid = std::to_string(line.id);
    std::size_t count = 0;
    for (const std::string_view bytes : line.events) {
      if (count++ % events_between_looks == 0 && stopped(control_)) return interrupted(path_);
      const Event event = event_of(bytes, plane);
      const Ns start = start_of(line, event);
      if (event.name.empty() || !EventSink::in_range(start)) {
        ++sink_.notes().events;
        sink_.note(event.name.empty() ? "operation_without_a_name" : "timestamp_out_of_range", 0);
        continue;
      }
      add_event(event, start, {pid, tid, host ? host_category(event, calls) : ""});
    }
    if (host && !line.name.empty()) name_thread(pid, tid, line.name);
    return true;
  }

  struct Place {
    std::string_view pid;
    std::string_view tid;
    std::string_view category;  // empty: device work
  };

  void add_event(const Event& event, Ns start, const Place& place) {
    RawEvent raw;
    const Microseconds ts(start);
    const Microseconds dur(Ns{event.duration_ps / 1000});
    const bool device = place.category.empty();
    std::string name(event.name);
    if (event.step) name += '#' + std::to_string(*event.step);
    const std::string correlation = std::to_string(event.correlation.value_or(0));
    raw.set(Field::ph, "X");
    raw.set(Field::cat, device ? device_category(event) : place.category);
    raw.set(Field::name, name);
    raw.set(Field::ts, ts.view(), ValueKind::scalar);
    raw.set(Field::dur, dur.view(), ValueKind::scalar);
    raw.set(Field::pid, place.pid, ValueKind::scalar);
    raw.set(Field::tid, place.tid, ValueKind::scalar);
    if (event.correlation) raw.set(Field::correlation, correlation, ValueKind::scalar);
    if (device) {
      raw.set(Field::device, place.pid, ValueKind::scalar);
      raw.set(Field::stream, place.tid, ValueKind::scalar);
    }
    sink_.add(raw, 0);
  }

  [[nodiscard]] Ns start_of(const Line& line, const Event& event) const {
    std::int64_t ns = 0;
    if (__builtin_add_overflow(line.begin_ns, event.offset_ps / 1000, &ns) ||
        __builtin_add_overflow(ns, base_ns_, &ns))
      return Ns{std::numeric_limits<std::int64_t>::max()};
    return Ns{ns};
  }

  // "/device:GPU:3", perhaps followed by words.
  static std::string device_number(std::string_view plane) {
    const std::string_view rest = plane.substr(gpu_plane.size());
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    return digits == 0 || digits > 6 ? "0" : std::string(rest.substr(0, digits));
  }

  void name_thread(std::string_view pid, std::string_view tid, std::string_view name) {
    RawEvent raw;
    raw.set(Field::ph, "M");
    raw.set(Field::name, "thread_name");
    raw.set(Field::pid, pid, ValueKind::scalar);
    raw.set(Field::tid, tid, ValueKind::scalar);
    raw.set(Field::arg_name, name);
    sink_.add(raw, 0);
  }

  const std::string& path_;
  const ReadControl& control_;
  EventSink sink_;
  std::int64_t base_ns_ = 0;
  std::uint64_t left_out_ = 0;
};

constexpr WholeFileLimit xplane_limit = {.bytes = std::uint64_t{2} << 30,
                                         .what = "more than 2 GB of a profile of XLA",
                                         .hint = "profile fewer steps"};

// The start of the profile, if instants count from it.
std::int64_t base_of(const std::vector<Plane>& planes) {
  std::int64_t begin = 0;
  for (const Plane& plane : planes) {
    if (plane.name != environment_plane) continue;
    for (const std::string_view bytes : plane.own) {
      const Statistic s = statistic_of(bytes, plane);
      if (s.name == "profile_start_time" && s.number) begin = *s.number;
    }
  }
  for (const Plane& plane : planes)
    for (const std::string_view bytes : plane.lines) {
      std::int64_t begin_ns = 0;
      take_fields(bytes, ProtoInto(3, begin_ns));
      if (begin_ns >= earliest_epoch.count()) return 0;
    }
  return begin >= earliest_epoch.count() ? begin : 0;
}

}  // namespace

bool is_xplane(std::string_view head) {
  if (!head.starts_with('\x0a')) return false;
  head.remove_prefix(1);
  std::uint64_t size = 0;
  if (!take_varint(head, size)) return false;
  for (ProtoFields f(head.substr(0, size)); f.next();) {
    if (f.field() == 1 && !f.is_bytes()) continue;
    // A plane's name. In a Perfetto packet this field is a message.
    return f.field() == 2 && !f.bytes().empty() &&
           std::ranges::all_of(f.bytes(), [](char c) { return c >= ' ' && c <= '~'; });
  }
  return false;
}

Result<std::vector<Trace>> read_xplane_from(ByteSource& source, const std::string& path,
                                            const ReadControl& control) {
  const auto bytes = read_whole_file(source, path, control, xplane_limit);
  if (!bytes) return bytes.error();
  XplaneRows rows(path, control);
  std::vector<Plane> planes;
  std::string host;
  ProtoFields space(*bytes);
  while (space.next()) {
    if (space.field() == 1) planes.push_back(plane_of(space.bytes()));
    if (space.field() == 4) host = space.bytes();
  }
  rows.set_base(base_of(planes));
  for (const Plane& plane : planes)
    if (auto stop = rows.add(plane); !stop) return stop.error();
  const bool damaged = space.damaged() || !source.damage().empty();
  Trace trace = rows.finish();
  if (damaged) {
    trace.notes.truncated = true;
    trace.notes.add("truncated_event", bytes->size());
  }
  if (trace.slices.size() == 0 && damaged)
    return Error{.what = "a profile of XLA that is cut before its first plane with rows ends",
                 .file = path,
                 .byte = bytes->size(),
                 .hint = "copy it again, or record it again"};
  if (trace.slices.size() == 0)
    return Error{.what = "a profile of XLA without rows of a host or of streams of a GPU (" +
                         std::to_string(planes.size()) + " planes)",
                 .file = path,
                 .byte = bytes->size(),
                 .hint = "planes of TPUs are not read; record with jax.profiler.trace"};
  trace.metadata.format = "xplane";
  trace.metadata.path = path;
  trace.metadata.text_bytes = bytes->size();
  trace.metadata.file_bytes = source.position();
  if (!host.empty()) trace.metadata.texts["host_name"] = host;
  if (const std::string damage = source.damage(); !damage.empty())
    trace.metadata.texts["damage"] = damage;
  drop_strays(trace);
  std::vector<Trace> traces;
  traces.push_back(std::move(trace));
  return traces;
}

}  // namespace stepscope
