// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/perfetto/perfetto_reading.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include "stepscope/base/proto_wire.h"
#include "stepscope/event/finding_category.h"
#include "stepscope/read/bytes/microseconds.h"
#include "stepscope/read/perfetto/perfetto_packets.h"
#include "stepscope/read/rows/event_category.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 9> overheads = {"Activity Buffer Request",
                                                       "Buffer Flush",
                                                       "Command Buffer Full",
                                                       "Driver Compiler",
                                                       "Instrumentation",
                                                       "Lazy Function Loading",
                                                       "Resource",
                                                       "Runtime Triggered Module Loading",
                                                       "Unrecognized"};

constexpr std::array<std::string_view, 9> annotation_beginnings = {"ProfilerStep#",
                                                                   "Optimizer.",
                                                                   "enumerate(",
                                                                   "DistributedDataParallel.",
                                                                   "FSDP::",
                                                                   "FullySharded",
                                                                   "Torch-Compiled Region",
                                                                   "## Call",
                                                                   "PyTorch Profiler"};

bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

// "nccl:all_reduce", "gloo:barrier": a word and one colon.
bool names_backend(std::string_view name) {
  const std::size_t colon = name.find(':');
  return colon != std::string_view::npos && colon > 1 && colon + 1 < name.size() &&
         name[colon + 1] != ':' && std::ranges::all_of(name.substr(0, colon), is_lower);
}

bool is_annotation(std::string_view name) {
  return names_backend(name) || std::ranges::any_of(annotation_beginnings, [&](auto beginning) {
           return name.starts_with(beginning);
         });
}

// Driver calls begin with "cu", runtime calls with "cuda".
bool is_driver_call(std::string_view name) {
  return name.size() > 2 && name.starts_with("cu") &&
         std::isupper(static_cast<unsigned char>(name[2])) != 0;
}

bool is_operator(std::string_view name) {
  return name.find("::") != std::string_view::npos || name == "record_param_comms" ||
         name == "detach" || name == "detach_";
}

// The category of a GPU render stage by its name: "Kernel", "Memcpy", "Memset", "Annotation".
std::string_view category_of_stage(std::string_view stage) {
  const auto begins = [&](std::string_view word) { return stage.starts_with(word); };
  if (begins("Memcpy") || begins("CopyHostTo") || begins("CopyDeviceTo")) return "gpu_memcpy";
  if (begins("Memset") || begins("FillBuffer")) return "gpu_memset";
  if (begins("Annotation")) return "gpu_user_annotation";
  return "kernel";
}

// The category of a row in torch.profiler's .pftrace, which does not write one: a value of a Chrome
// trace's `cat`, or "other" if undecided. Arguments that only one kind of row has decide. Operators
// and annotations have the same arguments, so the name decides there.
// tests/roundtrip/torch_pftrace.py compares budgets without categories with those with them.
std::string_view category_without_word(std::string_view name, const RawEvent& arguments,
                                       const ArgumentHints& hints) {
  if (hints.sync) return "cuda_sync";
  if (hints.python) return "python_function";
  if (hints.call || name.starts_with("cuda") || name.starts_with("hip"))
    return is_driver_call(name) ? "cuda_driver" : "cuda_runtime";
  if (arguments.has(Field::stream) && arguments.has(Field::device)) {
    const std::string_view stage = category_of_stage(name);
    return stage == "gpu_user_annotation" ? "kernel" : stage;
  }
  const bool from_profiler = hints.function_id || hints.event_id ||
                             arguments.has(Field::external_id) || arguments.has(Field::sequence) ||
                             arguments.has(Field::input_dims) ||
                             arguments.has(Field::forward_thread);
  if (is_annotation(name)) return "user_annotation";
  if (is_operator(name)) return "cpu_op";
  if (from_profiler)
    return hints.function_id || arguments.has(Field::sequence) ||
                   arguments.has(Field::input_dims) || arguments.has(Field::forward_thread)
               ? "cpu_op"
               : "user_annotation";
  if (std::ranges::find(overheads, name) != overheads.end()) return "overhead";
  return "other";
}

constexpr std::size_t largest_inflated = 256 << 20;
constexpr std::uint64_t forever = std::numeric_limits<std::int64_t>::max();

// TrackEvent.Type.
enum EventType : std::uint64_t { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };

// Fields of TracePacket.
enum Packet : std::uint32_t {
  clock_snapshot = 6,
  track_event = 11,
  compressed_packets = 50,
  gpu_counter_event = 52,
  gpu_render_stage_event = 53,
  track_descriptor = 60,
};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether a correlation joins such rows.
bool is_linked(std::string_view category, std::string_view name) {
  const Category c = category_of(category, name).value_or(Category::other);
  return c == Category::runtime || c == Category::driver || is_device_work(c);
}

}  // namespace

void PerfettoReading::add(std::string_view packet, std::uint64_t byte) {
  add_packet(packet, byte, false);
}

void PerfettoReading::add_packet(std::string_view packet, std::uint64_t byte, bool inflated) {
  PacketHead head;
  Place place{.byte = byte};
  place.sequence = sequences_.enter(packet, head, byte, sink_.notes());
  if (place.sequence == nullptr) return;
  ProtoFields f(packet);
  while (f.next()) {
    if (!f.is_bytes()) continue;
    switch (f.field()) {
      case Packet::clock_snapshot:
        clocks_.snapshot(f.bytes(), head.sequence);
        break;
      case Packet::track_descriptor:
        tracks_.describe(f.bytes());
        break;
      case Packet::track_event:
        if (place_of(head, place)) add_event(f.bytes(), place);
        break;
      case Packet::gpu_render_stage_event:
        if (place_of(head, place)) add_stage(f.bytes(), place);
        break;
      case Packet::gpu_counter_event:
        if (place_of(head, place)) add_gpu_counters(f.bytes(), place);
        break;
      case Packet::compressed_packets:
        if (inflated || !inflate_packets(f.bytes(), largest_inflated, [&](std::string_view inner) {
              add_packet(inner, byte, true);
            }))
          sink_.note("damaged_packet", byte);
        break;
      default:
        break;
    }
  }
  if (f.damaged()) sink_.note("damaged_packet", byte);
}

bool PerfettoReading::place_of(const PacketHead& head, Place& place) {
  if (!head.has_time) {
    sink_.note("missing_timestamp", place.byte);
    return false;
  }
  const std::uint32_t clock =
      head.clock.value_or(place.sequence->clock.value_or(PerfettoClocks::default_clock));
  const auto time = clocks_.trace_time(head.time, clock, head.sequence);
  if (!time) {
    sink_.note("timestamp_of_an_unknown_clock", place.byte);
    return false;
  }
  place.time = Ns{*time};
  if (EventSink::in_range(place.time)) return true;
  sink_.note("timestamp_out_of_range", place.byte);
  return false;
}

void PerfettoReading::read_event(std::string_view message, const PacketSequence& sequence) {
  event_.type = 0;
  event_.name = {};
  event_.category = {};
  event_.track = sequence.track;
  event_.flow.reset();
  event_.value = 0;
  event_.annotations.clear();
  const auto categorise = [&](std::string_view text) {
    if (event_.category.empty() || !category_of(event_.category, {})) event_.category = text;
  };
  for (ProtoFields f(message); f.next();) switch (f.field()) {
      case 9:
        event_.type = f.number();
        break;
      case 11:
        event_.track = f.number();
        break;
      case 10:
        event_.name = sequences_.text(sequence.event_names.find(f.number()));
        break;
      case 23:
        event_.name = f.bytes();
        break;
      case 3:
        if (!f.is_bytes()) {
          categorise(sequences_.text(sequence.categories.find(f.number())));
        } else {  // packed
          std::string_view iids = f.bytes();
          for (std::uint64_t iid = 0; take_varint(iids, iid);)
            categorise(sequences_.text(sequence.categories.find(iid)));
        }
        break;
      case 22:
        categorise(f.bytes());
        break;
      case 4:
        if (f.is_bytes()) event_.annotations.push_back(f.bytes());
        break;
      case 30:
        event_.value = static_cast<double>(static_cast<std::int64_t>(f.number()));
        break;
      case 44:
        event_.value = f.real();
        break;
      case 36:  // older form of flow_ids
      case 47:
      case 42:  // terminating flow ids
      case 48:
        if (!f.is_bytes() && !event_.flow) event_.flow = f.number();
        break;
      default:
        break;
    }
}

void PerfettoReading::add_event(std::string_view message, const Place& place) {
  read_event(message, *place.sequence);
  bool fresh = false;
  PerfettoTrack* found = tracks_.find(event_.track.value_or(0), fresh);
  if (found == nullptr) return sink_.note("too_many_tracks", place.byte);
  PerfettoTrack& track = *found;
  if (fresh) name_row(track.pid(), track.tid(), track.process_name, track.thread_name, place.byte);
  switch (event_.type) {
    case EventType::slice_begin:
      track.is_of_findings = event_.category == finding_category;
      if (!track.is_of_findings) begin_slice(track, place);
      break;
    case EventType::slice_end:
      if (!track.is_of_findings) slices_.end(track.number, place.time, place.byte);
      break;
    case EventType::instant:
      add_arguments(track, place, "i");
      break;
    case EventType::counter:
      add_counter(track, place);
      break;
    default:  // only Chrome's older tracing writes it
      sink_.note("unknown_phase", place.byte);
  }
}

// Fills in the event and passes it to the sink. A slice's duration is set later.
void PerfettoReading::add_arguments(const PerfettoTrack& track, const Place& place,
                                    std::string_view phase) {
  arguments_.clear(place.byte);
  arguments_.wants_numbers = event_.category == "cuda_profiler_range";
  for (const std::string_view annotation : event_.annotations)
    arguments_.add(annotation, *place.sequence);
  if (event_.category.empty())
    event_.category = track.process_name == "Overhead"
                          ? "overhead"
                          : category_without_word(event_.name, arguments_.event, arguments_.hints);
  if (!arguments_.event.has(Field::correlation) && event_.flow &&
      is_linked(event_.category, event_.name))
    arguments_.add_number(
        Field::correlation,
        static_cast<std::int64_t>(static_cast<std::uint32_t>(*event_.flow ^ *event_.flow >> 32)));
  const Microseconds time(place.time);
  RawEvent& event = arguments_.event;
  event.set(Field::ph, phase);
  event.set(Field::cat, event_.category);
  event.set(Field::name, event_.name);
  event.set(Field::ts, time.view(), ValueKind::scalar);
  event.set(Field::dur, "0", ValueKind::scalar);
  event.set(Field::pid, track.pid());
  event.set(Field::tid, track.tid());
  sink_.add(event, place.byte);
  if (arguments_.rank_metadata.empty()) return;
  rank_metadata_ += rank_metadata_.empty() ? '[' : ',';
  rank_metadata_ += arguments_.rank_metadata;
}

void PerfettoReading::begin_slice(PerfettoTrack& track, const Place& place) {
  const auto slice = static_cast<std::uint32_t>(sink_.slices());
  add_arguments(track, place, "X");
  slices_.begin(track.number, place.time, slice, place.byte);
  for (const auto& [metric, value] : arguments_.numbers)
    if (metric != "device" && metric != "rank")
      sink_.add_reading(place.time, metric, value, SliceId{slice});
}

void PerfettoReading::add_counter(PerfettoTrack& track, const Place& place) {
  ++sink_.notes().events;
  double value = event_.value * track.unit;
  if (track.incremental) value = track.sum += value;
  if (!std::isfinite(value)) return sink_.note("unreadable_value", place.byte);
  sink_.add_reading(place.time, track.name, value);
}

PerfettoReading::RenderStage PerfettoReading::read_stage(std::string_view message,
                                                         const PacketSequence& sequence,
                                                         const PacketSequences& sequences) {
  RenderStage stage;
  const auto specified = [&](std::uint64_t iid) {
    return sequences.text(sequence.gpu_stages.find(iid));
  };
  for (ProtoFields f(message); f.next();) switch (f.field()) {
      case 2:
        stage.duration = f.number();
        break;
      case 11:
        stage.gpu = static_cast<std::int32_t>(f.number());
        break;
      case 13:
        stage.queue = specified(f.number());
        break;
      case 14:
        stage.stage = specified(f.number());
        break;
      case 17:
        stage.name = f.bytes();
        break;
      case 20:
        stage.name = sequences.text(sequence.event_names.find(f.number()));
        break;
      default:
        break;
    }
  if (stage.name.empty()) stage.name = stage.stage;
  return stage;
}

// GpuRenderStageEvent: PyTorch writes all device work as these, with one hardware queue per stream
// and the arguments as texts.
void PerfettoReading::add_stage(std::string_view message, const Place& place) {
  const RenderStage stage = read_stage(message, *place.sequence, sequences_);
  arguments_.clear(place.byte);
  arguments_.wants_numbers = false;
  std::string_view stream;
  for (ProtoFields f(message); f.next();) {
    if (f.field() != 6) continue;
    std::string_view name;
    std::string_view value;
    take_fields(f.bytes(), ProtoInto(1, name), ProtoInto(2, value));
    if (name == "stream id")
      stream = value;
    else
      arguments_.add_text(name, value);
  }
  if (stream.empty() && stage.queue.starts_with("stream ")) stream = stage.queue.substr(7);
  const std::string gpu = std::to_string(stage.gpu);
  const Microseconds time(place.time);
  const std::string_view tid = stream.empty() ? stage.queue : stream;
  const Microseconds duration(Ns{static_cast<std::int64_t>(std::min(stage.duration, forever))});
  RawEvent& event = arguments_.event;
  event.set(Field::ph, "X");
  event.set(Field::cat, category_of_stage(stage.stage));
  event.set(Field::name, stage.name);
  event.set(Field::ts, time.view(), ValueKind::scalar);
  event.set(Field::dur, duration.view(), ValueKind::scalar);
  event.set(Field::pid, gpu, ValueKind::scalar);
  event.set(Field::tid, tid);
  event.set(Field::device, gpu, ValueKind::scalar);
  if (is_number(stream)) event.set(Field::stream, stream);
  sink_.add(event, place.byte);
  if (named_queues_.insert(gpu + ' ' + std::string(tid)).second)
    name_row(raw_value(gpu, ValueKind::scalar), raw_value(tid, ValueKind::literal), "GPU " + gpu,
             stage.queue, place.byte);
}

// GpuCounterEvent: readings by the numbers in its descriptor.
void PerfettoReading::add_gpu_counters(std::string_view message, const Place& place) {
  const InternTable* names = nullptr;
  for (ProtoFields f(message); f.next();) {
    if (f.field() != 4) continue;
    const auto at = place.sequence->gpu_counters.find(f.number());
    if (at != place.sequence->gpu_counters.end()) names = &at->second;
  }
  ++sink_.notes().events;
  if (names == nullptr) return sink_.note("counter_without_a_name", place.byte);
  for (ProtoFields f(message); f.next();) {
    if (f.field() != 2) continue;
    std::uint64_t id = 0;
    double value = 0;
    for (ProtoFields g(f.bytes()); g.next();) {
      if (g.field() == 1) id = g.number();
      if (g.field() == 2) value = static_cast<double>(static_cast<std::int64_t>(g.number()));
      if (g.field() == 3) value = g.real();
    }
    const std::string_view name = sequences_.text(names->find(id));
    if (name.empty() || !std::isfinite(value))
      sink_.note("counter_without_a_name", place.byte);
    else
      sink_.add_reading(place.time, name, value);
  }
}

// Names rows as the metadata events of a Chrome trace do.
void PerfettoReading::name_row(RawValue pid, RawValue tid, std::string_view process,
                               std::string_view thread, std::uint64_t byte) {
  RawEvent names;
  names.set(Field::pid, pid);
  names.set(Field::tid, tid);
  names.set(Field::ph, "M");
  names.set(Field::name, "process_name");
  names.set(Field::arg_name, process);
  if (!process.empty()) sink_.add(names, byte);
  names.set(Field::name, "thread_name");
  names.set(Field::arg_name, thread);
  if (!thread.empty()) sink_.add(names, byte);
}

Trace PerfettoReading::finish() {
  Trace trace = sink_.finish();
  slices_.pair(trace);
  if (!rank_metadata_.empty()) trace.metadata.texts["stepscopeRanks"] = rank_metadata_ + ']';
  const auto offset = clocks_.to_unix();
  if (!offset || *offset == 0) return trace;
  if (!EventSink::in_range(Ns{*offset})) {
    trace.notes.add("clock_out_of_range", 0);
    return trace;
  }
  for (std::vector<Ns>* column : {&trace.slices.start, &trace.memory.time, &trace.counters.time})
    for (Ns& t : *column) t += Ns{*offset};
  return trace;
}

}  // namespace stepscope
