// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kineto.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "stepscope/base/parallel_for.h"
#include "stepscope/read/chunk_reader.h"
#include "stepscope/read/document.h"
#include "stepscope/read/event_parse.h"
#include "stepscope/read/event_sink.h"
#include "stepscope/read/split_ranks.h"

namespace stepscope {
namespace {

constexpr std::size_t first_head = 64 * 1024;
constexpr std::size_t longest_head = 256 << 20;
constexpr std::size_t longest_tail = 16 << 20;  // of one member behind the events
// ts of a file without baseTimeNanoseconds beyond this counts from the UNIX epoch (1985 in ns).
constexpr Ns earliest_epoch{500'000'000'000'000'000};

Error interrupted(const std::string& path) {
  return {.what = "interrupted", .file = path, .byte = {}, .hint = {}, .interrupted = true};
}

// The text before the events, and the document's kind.
struct Head {
  std::string text;
  std::size_t events_at = 0;
  bool bare = false;
  Metadata metadata;
  ImportNotes notes;
};

Error no_trace(const std::string& path, const Head& head, const OuterText& outer) {
  if (head.text.find_first_not_of(" \t\r\n") == std::string::npos)
    return {.what = "the file is empty", .file = path, .byte = 0, .hint = "record the trace again"};
  const std::string hint =
      "give a torch.profiler trace (export_chrome_trace): .json, .json.gz or .json.zst";
  if (outer.outer == Outer::ended)
    return {.what = "JSON without traceEvents", .file = path, .byte = outer.at, .hint = hint};
  if (outer.outer == Outer::need_more)
    return {.what = "the file ends before traceEvents",
            .file = path,
            .byte = outer.at,
            .hint = "it was cut while it was written: record the trace again"};
  return {.what = "not JSON", .file = path, .byte = outer.at, .hint = hint};
}

Result<Head> read_until_events(ByteSource& source, const std::string& path) {
  Head head;
  for (std::size_t want = first_head;; want *= 2) {
    const std::size_t before = head.text.size();
    head.text.resize(want);
    const auto got = source.read(std::span(head.text).subspan(before));
    if (!got) return got.error();
    head.text.resize(before + *got);
    head.metadata = {};
    head.notes = {};
    const OuterText outer = read_head(head.text, head.metadata, head.notes);
    if (outer.outer == Outer::events) {
      head.events_at = outer.at;
      head.bare = is_bare_array(head.text);
      return head;
    }
    const bool ended = head.text.size() < want;
    if (outer.outer != Outer::need_more || ended || want >= longest_head)
      return no_trace(path, head, outer);
  }
}

// What one attempt at the events gathers.
struct Events {
  EventSink sink;
  std::string tail;  // text behind the array's ']'
  bool array_ended = false;
};

class Reading {
 public:
  Reading(const std::string& path, const ReadControl& control) : path_(path), control_(control) {}

  Result<Trace> run(unsigned threads) {
    auto source = open_source(path_);
    if (!source) return source.error();
    auto head = read_until_events(**source, path_);
    if (!head) return head.error();
    metadata_ = std::move(head->metadata);
    notes_ = std::move(head->notes);
    bare_ = head->bare;
    ChunkReader reader(**source, head->text.substr(head->events_at), head->events_at);
    head->text = {};
    auto events =
        threads > 1 ? in_parallel(reader, **source, threads) : in_sequence(reader, **source);
    if (!events) return events.error();
    return complete(std::move(*events), **source, reader.text_bytes());
  }
  [[nodiscard]] bool must_repeat_in_sequence() const { return unclean_; }

 private:
  [[nodiscard]] bool stopped() const {
    return control_.stop != nullptr && control_.stop->requested();
  }

  void report_progress(const ByteSource& source) {
    if (control_.bytes_read == nullptr) return;
    const std::uint64_t now = source.position();
    if (now > reported_) control_.bytes_read->fetch_add(now - reported_);
    reported_ = std::max(reported_, now);
  }

  // One thread: what a chunk cuts is put back in front of the next, so nothing needs to be
  // verified.
  Result<Events> in_sequence(ChunkReader& reader, ByteSource& source) {
    Events events;
    Chunk chunk;
    JsonIndex index;
    bool in_tail = false;
    for (;;) {
      if (stopped()) return interrupted(path_);
      const auto more = reader.next(chunk);
      if (!more) return more.error();
      if (!*more) break;
      report_progress(source);
      std::string_view text = chunk.text();
      if (!in_tail) {
        const ParsedStretch parsed =
            parse_events(text, chunk.offset, chunk.last, index, events.sink);
        if (!parsed.array_ended) {
          if (!chunk.last && parsed.consumed < text.size())
            reader.give_back(text.substr(parsed.consumed));
          continue;
        }
        events.array_ended = in_tail = true;
        text.remove_prefix(parsed.consumed);
      }
      events.tail += text;
      const OuterText outer = read_tail(events.tail, bare_, chunk.last, metadata_, notes_);
      if (outer.outer == Outer::need_more && events.tail.size() - outer.at < longest_tail) {
        events.tail.erase(0, outer.at);  // members that were read are done with
        continue;
      }
      if (outer.outer != Outer::events) {
        if (!chunk.last) notes_.add("text_behind_the_document", chunk.offset + chunk.size);
        in_tail = false;
        break;
      }
      reader.give_back(std::string_view(events.tail).substr(outer.at));
      events.tail.clear();
      in_tail = events.array_ended = false;
    }
    if (in_tail) read_tail(events.tail, bare_, true, metadata_, notes_);
    return events;
  }

  // Several threads: each parses chunks of its own, and every chunk but the last must end between
  // two events.
  Result<Events> in_parallel(ChunkReader& reader, ByteSource& source, unsigned threads) {
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
      while (!stop) {
        if (stopped()) return fail(interrupted(path_));
        const auto more = reader.next(chunk);
        if (!more) return fail(more.error());
        if (!*more) return;
        if (worker == 0) report_progress(source);
        const auto parsed =
            parse_events(chunk.text(), chunk.offset, chunk.last, index, parts[worker].sink);
        const std::string_view rest = chunk.text().substr(parsed.consumed);
        if (chunk.last && parsed.array_ended) {
          parts[0].array_ended = true;  // only one chunk is the last
          parts[0].tail = rest;
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
    Events all = std::move(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) all.sink.absorb(std::move(parts[i].sink));
    if (!all.array_ended) return all;
    const OuterText outer = read_tail(all.tail, bare_, true, metadata_, notes_);
    if (outer.outer == Outer::events) {
      unclean_ = true;  // a second traceEvents: one thread reads on there
      return Error{.what = "a second traceEvents array", .file = path_};
    }
    return all;
  }

  Result<Trace> complete(Events events, ByteSource& source, std::uint64_t text_bytes) {
    Trace trace = events.sink.finish();
    const std::string format = trace.metadata.format;
    trace.metadata = std::move(metadata_);
    trace.metadata.format = format;
    trace.metadata.path = path_;
    trace.metadata.text_bytes = text_bytes;
    trace.metadata.file_bytes = source.position();
    trace.notes.merge(notes_);
    if (const std::string damage = source.damage(); !damage.empty()) {
      trace.notes.truncated = true;
      trace.notes.add("damaged_compression", text_bytes);
      trace.metadata.texts["damage"] = damage;
    }
    if (!events.array_ended) {
      trace.notes.add("unterminated_array", text_bytes);
      // A bare array may lack its ']' by the Chrome trace format; an object may not.
      if (!bare_) trace.notes.truncated = true;
    }
    const auto& counts = trace.notes.counts;
    const auto without_phase = counts.find("event_without_phase");
    if (trace.notes.events == (without_phase == counts.end() ? 0 : without_phase->second))
      return Error{.what = trace.notes.events == 0 ? "traceEvents is empty"
                                                   : "a JSON array, but no trace events in it",
                   .file = path_,
                   .byte = text_bytes,
                   .hint = "record at least one step: see docs/recording.md"};
    set_clock(trace);
    return trace;
  }

  static void set_clock(Trace& trace) {
    Metadata& metadata = trace.metadata;
    const auto begin = std::ranges::min_element(trace.slices.start);
    const bool epoch = begin != trace.slices.start.end() && *begin > earliest_epoch;
    metadata.clock = metadata.base.count() > 0 || epoch ? Clock::unix_epoch : Clock::relative;
    if (metadata.base.count() == 0) return;
    for (std::vector<Ns>* column : {&trace.slices.start, &trace.memory.time, &trace.counters.time})
      for (Ns& t : *column) t += metadata.base;
  }

  const std::string& path_;
  const ReadControl& control_;
  Metadata metadata_;
  ImportNotes notes_;
  bool bare_ = false;
  std::atomic<bool> unclean_{false};
  std::uint64_t reported_ = 0;
};

}  // namespace

Result<std::vector<Trace>> read_kineto(const std::string& path, const ReadControl& control) {
  Reading parallel(path, control);
  auto trace = parallel.run(control.threads);
  if (!trace && parallel.must_repeat_in_sequence()) trace = Reading(path, control).run(1);
  if (!trace) return trace.error();
  return split_ranks(std::move(*trace));
}

}  // namespace stepscope
