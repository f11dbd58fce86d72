// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kineto/kineto.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "stepscope/base/crew.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/read/bytes/document.h"
#include "stepscope/read/kineto/chunk_reader.h"
#include "stepscope/read/kineto/event_parse.h"
#include "stepscope/read/rows/event_sink.h"
#include "stepscope/read/rows/overruns.h"
#include "stepscope/read/rows/split_ranks.h"
#include "stepscope/read/rows/stray_rows.h"

namespace stepscope {
namespace {

constexpr const char* cut_hint =
    "it was cut while it was written: copy it again, or let the process live until the profiler "
    "has "
    "written it";

constexpr std::size_t first_head = 64 * 1024;

// The text before the events, and the kind of document.
struct Head {
  std::string text;  // from `offset` on; members that were read are dropped
  std::uint64_t offset = 0;
  std::size_t events_at = 0;  // in the text
  bool begun = false;         // the object's brace was read
  bool bare = false;
  Metadata metadata;
  ImportNotes notes;
};

Error no_trace(const std::string& path, const Head& head, const OuterText& outer,
               const std::string& damage) {
  if (outer.outer == Outer::need_more && !damage.empty())
    return {.what = damage + ", before traceEvents",
            .file = path,
            .byte = {},
            .hint = "record the trace again, or copy the file again"};
  if (!head.begun && head.text.find_first_not_of(" \t\r\n") == std::string::npos)
    return {.what = "the file is empty", .file = path, .byte = 0, .hint = "record the trace again"};
  const std::string hint =
      "give a torch.profiler trace (export_chrome_trace): .json, .json.gz or .json.zst";
  const std::uint64_t at = head.offset + outer.at;
  if (outer.outer == Outer::ended)
    return {.what = "JSON without traceEvents", .file = path, .byte = at, .hint = hint};
  if (outer.outer == Outer::need_more)
    return {.what = "the file ends before traceEvents", .file = path, .byte = at, .hint = cut_hint};
  constexpr std::size_t mark_of_tar = 257;
  if (head.offset == 0 && head.text.size() > mark_of_tar + 5 &&
      head.text.compare(mark_of_tar, 5, "ustar") == 0)
    return {.what = "is an archive", .file = path, .byte = {}, .hint = "unpack it with tar -xf"};
  if (head.offset == 0 && head.text.starts_with("PK\x03\x04"))
    return {.what = "is an archive", .file = path, .byte = {}, .hint = "unpack it with unzip"};
  return {.what = "this is no JSON object or array", .file = path, .byte = at, .hint = hint};
}

// Drops text from the front of the head.
void drop(Head& head, std::size_t bytes) {
  head.begun = head.begun || head.text.find('{') < bytes;
  head.text.erase(0, bytes);
  head.offset += bytes;
}

Error of_memory_timeline(const std::string& path) {
  return {.what = "is a memory timeline of torch.profiler (raw), which is not read",
          .file = path,
          .byte = {},
          .hint =
              "stepscope memory reads what torch.cuda.memory._dump_snapshot writes, and analyze "
              "a trace with profile_memory=True"};
}

Error no_events(const std::string& path, bool bare, std::uint64_t byte) {
  return {.what = bare ? "a JSON array without trace events" : "no trace events in traceEvents",
          .file = path,
          .byte = byte,
          .hint = "record at least one step: see docs/how-to/record-a-trace.md"};
}

Result<Head> read_until_events(ByteSource& source, const std::string& path,
                               const ReadControl& control) {
  Head head;
  std::optional<MemberSkip> skip;
  std::size_t want = std::min(first_head, control.chunk_bytes);
  for (;; want = std::min(2 * want, control.chunk_bytes)) {
    if (stopped(control)) return interrupted(path);
    const std::size_t before = head.text.size();
    head.text.resize(before + want);
    const auto got = source.read(std::span(head.text).subspan(before));
    if (!got) return got.error();
    head.text.resize(before + *got);
    const bool ended = *got < want;
    if (skip) {
      drop(head, skip->take(head.text));
      if (!skip->ended() && !ended) continue;
      skip.reset();
    }
    const OuterText outer =
        head.begun ? read_tail({head.text, head.offset, ended}, head.metadata, head.notes)
                   : read_head(head.text, ended, head.metadata, head.notes);
    if (outer.outer == Outer::events) {
      head.events_at = outer.at;
      head.bare = !head.begun && is_bare_array(head.text);
      constexpr std::string_view plain_values = "\"[-0123456789tf";
      const std::size_t first = head.text.find_first_not_of(" \t\r\n", head.events_at);
      if (head.bare && is_memory_timeline(head.text)) return of_memory_timeline(path);
      if (first != std::string::npos && plain_values.find(head.text[first]) != plain_values.npos)
        return no_events(path, head.bare, head.offset + first);
      return head;
    }
    if (outer.outer != Outer::need_more || ended)
      return no_trace(path, head, outer, source.damage());
    drop(head, outer.at);
    if (is_too_long(head.text)) drop(head, skip.emplace().take(head.text));
  }
}

enum class Place : std::uint8_t { events, tail, behind };

// The result of one attempt to read the events.
struct Events {
  EventSink sink;
  Place place = Place::events;  // of the next text
  std::string tail;             // unfinished text behind the array's ']'
  std::uint64_t tail_offset = 0;
  std::optional<MemberSkip> skip{};  // of a member there that is too long to keep
};

class Reading {
 public:
  Reading(const std::string& path, const ReadControl& control) : path_(path), control_(control) {}

  Result<Trace> run(const OpenSource& open, unsigned threads) {
    auto source = open();
    if (!source) return source.error();
    auto head = read_until_events(**source, path_, control_);
    if (!head) return head.error();
    metadata_ = std::move(head->metadata);
    notes_ = std::move(head->notes);
    bare_ = head->bare;
    ChunkReader reader(**source, head->text.substr(head->events_at), head->offset + head->events_at,
                       control_.chunk_bytes);
    head->text = {};
    auto events = threads > 1 ? in_parallel(reader, threads) : in_sequence(reader);
    if (!events) return events.error();
    return complete(std::move(*events), **source, reader.text_bytes());
  }
  [[nodiscard]] bool must_repeat_in_sequence() const { return unclean_; }

 private:
  void report_progress(std::uint64_t now) {
    if (control_.bytes_read == nullptr) return;
    if (now > reported_) control_.bytes_read->fetch_add(now - reported_);
    reported_ = std::max(reported_, now);
  }

  // One thread: the cut end of a chunk is put back in front of the next one, so nothing needs to be
  // verified.
  Result<Events> in_sequence(ChunkReader& reader) {
    Events events;
    Chunk chunk;
    JsonIndex index;
    for (;;) {
      if (stopped(control_)) return interrupted(path_);
      const auto more = reader.next(chunk);
      if (!more) return more.error();
      if (!*more) return events;
      report_progress(chunk.position);
      take(chunk, reader, index, events);
      if (chunk.number == 0) expect(events.sink, chunk, 1);
    }
  }

  void take(const Chunk& chunk, ChunkReader& reader, JsonIndex& index, Events& events) {
    std::string_view text = chunk.text();
    std::uint64_t offset = chunk.offset;
    if (events.place == Place::events) {
      const ParsedStretch parsed = parse_events(text, offset, chunk.last, index, events.sink);
      text.remove_prefix(parsed.consumed);
      offset += parsed.consumed;
      if (!parsed.array_ended) {
        if (!chunk.last && !text.empty()) reader.give_back(text);
        return;
      }
      events.place = Place::tail;
      events.tail_offset = offset;
    }
    if (events.place == Place::behind) return note_behind(text, offset);
    events.tail += text;
    if (events.skip) {
      drop_tail(events, events.skip->take(events.tail));
      if (!events.skip->ended() && !chunk.last) return;
      events.skip.reset();
    }
    if (end_of_tail(events, chunk.last) != Outer::events) return;
    reader.give_back(events.tail);  // a second traceEvents
    events.tail.clear();
    events.place = Place::events;
  }

  static void drop_tail(Events& events, std::size_t bytes) {
    events.tail.erase(0, bytes);
    events.tail_offset += bytes;
  }

  // Reads the text behind the events as far as possible. The rest of the tail stays unfinished.
  Outer end_of_tail(Events& events, bool final) {
    OuterText outer{Outer::ended, 0};
    if (!bare_) outer = read_tail({events.tail, events.tail_offset, final}, metadata_, notes_);
    drop_tail(events, outer.at);
    if (outer.outer == Outer::events) return outer.outer;
    if (outer.outer == Outer::need_more && !final) {
      if (is_too_long(events.tail)) drop_tail(events, events.skip.emplace().take(events.tail));
      return outer.outer;
    }
    if (outer.outer != Outer::need_more) note_behind(events.tail, events.tail_offset);
    events.tail.clear();
    events.place = Place::behind;
    return outer.outer;
  }

  void note_behind(std::string_view text, std::uint64_t offset) {
    const std::size_t at = text.find_first_not_of(std::string_view(" \t\r\n\0", 5));
    if (at == std::string_view::npos || noted_behind_) return;
    noted_behind_ = true;
    notes_.add("text_behind_the_document", offset + at);
  }

  // After a worker's first chunk: estimates its share of the whole file and reserves space.
  void expect(EventSink& sink, const Chunk& chunk, unsigned threads) const {
    const auto size = file_size(path_);
    if (chunk.last || !size || chunk.position == 0) return;
    const double chunks = static_cast<double>(*size) / static_cast<double>(chunk.position) *
                          static_cast<double>(chunk.number + 1);
    sink.reserve(
        static_cast<std::size_t>(static_cast<double>(sink.slices()) * chunks * 1.1 / threads));
  }

  // Several threads: each parses its own chunks. Every chunk but the last must end between two
  // events.
  Result<Events> in_parallel(ChunkReader& reader, unsigned threads) {
    std::vector<Events> parts(threads);
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::optional<Error> failed;
    const auto fail = [&](std::optional<Error> error) {
      const std::lock_guard lock(mutex);
      if (!failed) failed = std::move(error);
      stop = true;
    };
    parallel_for(threads, threads, [&](std::size_t worker) {
      Chunk chunk;
      JsonIndex index;
      bool first = true;
      while (!stop) {
        if (stopped(control_)) return fail(interrupted(path_));
        const auto more = reader.next(chunk);
        if (!more) return fail(more.error());
        if (!*more) return;
        if (worker == 0) report_progress(chunk.position);
        if (chunk.cut) {
          unclean_ = true;
          return fail(std::nullopt);
        }
        parts[worker].sink.begin_chunk(chunk.number);
        const auto parsed =
            parse_events(chunk.text(), chunk.offset, chunk.last, index, parts[worker].sink);
        if (first) expect(parts[worker].sink, chunk, threads);
        first = false;
        const std::string_view rest = chunk.text().substr(parsed.consumed);
        if (chunk.last && parsed.array_ended) {
          parts[worker].place = Place::tail;
          parts[worker].tail = rest;
          parts[worker].tail_offset = chunk.offset + parsed.consumed;
        } else if (!chunk.last && (parsed.array_ended || !rest.empty())) {
          unclean_ = true;
          return fail(std::nullopt);
        }
      }
    });
    if (failed) return *failed;
    if (unclean_) return Error{.what = "chunks do not join", .file = path_};
    return join(std::move(parts));
  }

  Result<Events> join(std::vector<Events> parts) {
    Events all;
    std::vector<EventSink> sinks;
    for (Events& part : parts) {
      sinks.push_back(std::move(part.sink));
      if (part.place == Place::events) continue;  // only one chunk is the last
      all.place = part.place;
      all.tail = std::move(part.tail);
      all.tail_offset = part.tail_offset;
    }
    all.sink = EventSink::join(std::move(sinks), static_cast<unsigned>(parts.size()));
    if (all.place == Place::tail && end_of_tail(all, true) == Outer::events) {
      unclean_ = true;  // a second traceEvents: one thread reads it
      return Error{.what = "a second traceEvents array", .file = path_};
    }
    return all;
  }

  Result<Trace> complete(Events events, ByteSource& source, std::uint64_t text_bytes) {
    const bool categorized = events.sink.categorized();
    Trace trace = events.sink.finish();
    const std::string format = trace.metadata.format;
    trace.metadata = std::move(metadata_);
    trace.metadata.format = format;
    trace.metadata.path = path_;
    trace.metadata.text_bytes = text_bytes;
    trace.metadata.file_bytes = source.position();
    trace.notes.merge(notes_);
    trace.metadata.texts.erase("damage");
    if (const std::string damage = source.damage(); !damage.empty()) {
      trace.notes.truncated = true;
      trace.notes.add(source.is_cut() ? "cut_compression" : "damaged_compression", text_bytes);
      trace.metadata.texts["damage"] = damage;
    }
    if (events.place == Place::events) {
      trace.notes.add("unterminated_array", text_bytes);
      // The Chrome trace format allows a bare array without ']'; an object must be closed.
      if (!bare_) trace.notes.truncated = true;
    }
    const auto& counts = trace.notes.counts;
    const auto without_phase = counts.find("event_without_phase");
    const bool cut = events.place == Place::events || !source.damage().empty();
    const bool none =
        trace.notes.events == (without_phase == counts.end() ? 0 : without_phase->second);
    if (none && cut)
      return Error{.what = "the file ends before its first trace event",
                   .file = path_,
                   .byte = text_bytes,
                   .hint = cut_hint};
    if (none) return no_events(path_, bare_, text_bytes);
    // A file of our plugin that is full may have such rows alone. It still shows the job.
    if (trace.slices.size() == 0 && trace.memory.size() == 0 && trace.counters.size() == 0 &&
        !trace.metadata.world_size && counts.contains("asynchronous_row"))
      return Error{.what =
                       "all its rows with a time are asynchronous (ph b to e), as NCCL's profiler "
                       "plugin writes them: they are on no thread, and are not read",
                   .file = path_,
                   .byte = text_bytes,
                   .hint = "record with torch.profiler, rocprofv3 or Nsight Systems"};
    if (const auto refused = of_ascend(trace, text_bytes)) return *refused;
    if (!categorized && of_unknown_kinds(trace)) trace.notes.add(no_categories, text_bytes);
    correlate_by_external_id(trace);
    set_clock(trace);
    cut_overruns(trace);
    return trace;
  }

  // Where no row has a correlation, as of ROCm, calls and device work have its number as their
  // external id. Calls of an operator share its id, which joins nothing.
  static void correlate_by_external_id(Trace& trace) {
    Slices& s = trace.slices;
    std::vector<std::uint32_t> of_calls;
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < s.size(); ++i) {
      const bool call = s.category[i] == Category::runtime || s.category[i] == Category::driver;
      if (!call && !is_device_work(s.category[i])) continue;
      if (s.correlation[i] != 0) return;
      if (s.external_id[i] == 0) continue;
      rows.push_back(i);
      if (call) of_calls.push_back(s.external_id[i]);
    }
    std::ranges::sort(of_calls);
    if (std::ranges::adjacent_find(of_calls) != of_calls.end()) return;
    for (const std::uint32_t row : rows) s.correlation[row] = s.external_id[row];
  }

  // msprof, torch_npu and MindSpore write the rows of an NPU without a category, under a process of
  // this name. Without them an account would be that of the host alone.
  [[nodiscard]] std::optional<Error> of_ascend(const Trace& trace, std::uint64_t bytes) const {
    const bool npu = std::ranges::any_of(trace.tracks, [&](const Track& track) {
      return trace.strings[track.process_name] == "Ascend Hardware";
    });
    if (!npu) return std::nullopt;
    return Error{.what =
                     "a trace of Ascend NPUs (msprof, torch_npu, MindSpore): its rows of the "
                     "device have no category, and are not read",
                 .file = path_,
                 .byte = bytes,
                 .hint =
                     "docs/reference/inputs.md lists the profilers whose traces are read; "
                     "stepscope check reads the job's log"};
  }

  // Whether there are rows and no row has a known category.
  static bool of_unknown_kinds(const Trace& trace) {
    return trace.slices.size() > 0 && std::ranges::all_of(trace.slices.category, [](Category c) {
             return c == Category::other;
           });
  }

  static void set_clock(Trace& trace) {
    Metadata& metadata = trace.metadata;
    drop_strays(trace);
    if (metadata.base.count() == 0) return;
    metadata.clock = Clock::unix_epoch;
    for (std::vector<Ns>* column : {&trace.slices.start, &trace.memory.time, &trace.counters.time})
      for (Ns& t : *column) t += metadata.base;
  }

  const std::string& path_;
  const ReadControl& control_;
  Metadata metadata_;
  ImportNotes notes_;
  bool bare_ = false;
  bool noted_behind_ = false;
  std::atomic<bool> unclean_{false};
  std::uint64_t reported_ = 0;
};

}  // namespace

Result<std::vector<Trace>> read_kineto_from(const OpenSource& open, const std::string& path,
                                            const ReadControl& control) {
  Reading parallel(path, control);
  auto trace = parallel.run(open, control.threads);
  if (!trace && parallel.must_repeat_in_sequence()) trace = Reading(path, control).run(open, 1);
  if (!trace) return trace.error();
  return split_ranks(std::move(*trace));
}

Result<std::vector<Trace>> read_kineto(const std::string& path, const ReadControl& control) {
  return read_kineto_from([&] { return open_source(path); }, path, control);
}

}  // namespace stepscope
