// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/files/read_trace.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "stepscope/base/crew.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/remote_name.h"
#include "stepscope/base/utf8.h"
#include "stepscope/event/capture_cut.h"
#include "stepscope/event/join.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/files/formats.h"
#include "stepscope/read/files/one_job.h"
#include "stepscope/read/kineto/kineto.h"
#include "stepscope/read/rows/group_members.h"
#include "stepscope/read/rows/rank_names.h"

namespace stepscope {

template <>
struct Plain<StringPool> {
  static void append(std::string& out, const StringPool& pool) {
    append_plain(out, std::uint64_t{pool.size()});
    for (std::uint32_t id = 1; id < pool.size(); ++id)
      append_plain(out, std::string(pool[StringId{id}]));
  }
  static bool take(std::string_view& in, StringPool& pool) {
    std::uint64_t size = 0;
    std::string text;
    if (!take_plain(in, size)) return false;
    for (std::uint64_t id = 1; id < size; ++id) {
      if (!take_plain(in, text)) return false;
      pool.intern(text);
    }
    return true;
  }
};

namespace {

using Files = std::vector<FileTraces>;

// What became of one file.
struct FileRead {
  FileTraces traces;
  std::optional<Error> error;
};

// Reads the file with the first format that matches. The format is detected from the file's head,
// so the file is opened a second time for reading.
Result<std::vector<Trace>> read_file(const std::string& path, const ReadControl& control) {
  for (const std::string_view report : {".nsys-rep", ".qdrep"}) {
    if (path.ends_with(report))
      return Error{.what = "a report of Nsight Systems in a format that only nsys reads",
                   .file = path,
                   .byte = {},
                   .hint = "give what `nsys export --type sqlite` makes of it"};
  }
  auto source = open_source(path);
  if (!source) return source.error();
  std::string head(4096, '\0');
  const auto got = (*source)->read(head);
  if (!got) return got.error();
  head.resize(*got);
  for (const Format& format : formats()) {
    if (!format.matches(head)) continue;
    if (control.window && format.read != read_nsys)
      return Error{.what = "is no export of Nsight Systems, and only those are read in part",
                   .file = shown_name(path),
                   .byte = {},
                   .hint = "leave --filter-time out; --steps and --ranks choose what is analysed"};
    auto traces = format.read(path, control);
    if (traces)
      for (Trace& trace : *traces)
        if (trace.metadata.path == path) trace.metadata.path = shown_name(path);
    return traces;
  }
  return Error{.what = "no known trace format",
               .file = shown_name(path),
               .byte = 0,
               .hint = "docs/reference/inputs.md lists the formats"};
}

// The faces show U+FFFD for what no text can hold.
void note_unprintable_names(Trace& trace) {
  std::uint64_t names = 0;
  for (std::uint32_t id = 0; id < trace.strings.size(); ++id)
    if (!is_printable(trace.strings[StringId{id}])) ++names;
  if (names > 0) trace.notes.add("unprintable_name", 0, names);
}

// Whether XLA wrote the trace for a viewer: its processes have the names of the profile's planes.
bool of_xla(const Trace& trace) {
  return std::ranges::any_of(trace.tracks, [&](const Track& track) {
    const std::string_view process = trace.strings[track.process_name];
    return process.starts_with("/device:") || process.starts_with("/host:");
  });
}

// Why rows without categories cannot be accounted for.
std::optional<Error> without_categories(std::span<const Trace> traces) {
  for (const Trace& trace : traces)
    if (const auto at = trace.notes.first_byte.find(no_categories);
        at != trace.notes.first_byte.end())
      return Error{
          .what =
              "no row has a category (cat): nothing tells operators, calls of the "
              "runtime and kernels apart",
          .file = trace.metadata.path,
          .byte = at->second,
          .hint = of_xla(trace)
                      ? "give the profile of XLA that lies in the same folder, its name "
                        "ends with .xplane.pb"
                      : "record with torch.profiler, rocprofv3 or Nsight Systems, or write "
                        "the categories that docs/reference/inputs.md lists"};
  return std::nullopt;
}

// Calls options.progress several times a second during its lifetime.
class ProgressReporter {
 public:
  ProgressReporter(const ReadOptions& options, const std::atomic<std::uint64_t>& done,
                   std::uint64_t total) {
    if (!options.progress) return;
    thread_ = std::jthread([this, &options, &done, total](const std::stop_token& token) {
      std::unique_lock lock(mutex_);
      while (!token.stop_requested()) {
        options.progress(std::min(done.load(), total), total);
        wake_.wait_for(lock, token, std::chrono::milliseconds(100), [] { return false; });
      }
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

// Reads large files one after the other with all threads, and the others in parallel. A file is
// large if it exceeds a thread's share.
Files read_files(std::span<const std::string> paths, const ReadOptions& options, Run& run) {
  std::uint64_t total = 0;
  for (const std::string& path : paths) run.inputs.push_back({.path = shown_name(path)});
  constexpr unsigned connections = 16;
  const bool remote = std::ranges::any_of(paths, is_url);
  parallel_for(paths.size(), remote ? connections : 1, [&](std::size_t i) {
    if (const auto size = file_size(paths[i])) run.inputs[i].file_bytes = *size;
  });
  for (const InputReport& input : run.inputs) total += input.file_bytes;
  std::atomic<std::uint64_t> done{0};
  const ProgressReporter reporter(options, done, total);
  std::vector<FileRead> reads(paths.size());
  const auto read_one = [&](std::size_t i, unsigned threads) {
    const ReadControl control{
        .threads = threads, .stop = options.stop, .bytes_read = &done, .window = options.window};
    auto result = or_refused(shown_name(paths[i]), [&] { return read_file(paths[i], control); });
    if (!result) {
      reads[i].error = result.error();
      return;
    }
    if (const auto unusable = without_categories(*result)) {
      reads[i].error = unusable;
      return;
    }
    reads[i].traces = std::move(*result);
    for (Trace& trace : reads[i].traces) note_unprintable_names(trace);
  };
  constexpr std::uint64_t small = 4 << 20;
  const unsigned threads = std::max(options.threads.threads, 1U);
  // A digest is read faster than its rows are sent to another process.
  const bool digests =
      std::ranges::all_of(paths, [](const std::string& path) { return path.ends_with(".digest"); });
  if (!options.threads.alone() && !digests) {
    const bool few = paths.size() < options.threads.crew->size() * threads;
    shared_for(reads, {few ? 1 : threads, options.threads.crew}, Distribution::turns,
               [&](std::size_t i) { read_one(i, few ? threads : 1); });
  } else {
    std::vector<std::size_t> side_by_side;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const std::uint64_t bytes = run.inputs[i].file_bytes;
      if (threads > 1 && bytes > small && bytes > total / threads)
        read_one(i, threads);
      else
        side_by_side.push_back(i);
    }
    std::ranges::sort(side_by_side, std::greater<>(),
                      [&](std::size_t i) { return run.inputs[i].file_bytes; });
    parallel_for(side_by_side.size(), threads,
                 [&](std::size_t k) { read_one(side_by_side[k], 1); });
  }
  Files traces;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    traces.push_back(std::move(reads[i].traces));
    run.inputs[i].error = std::move(reads[i].error);
  }
  return traces;
}

void note_cuts(Files& files) {
  for (std::vector<Trace>& file : files) {
    if (std::ranges::none_of(file, [](const Trace& t) { return t.notes.truncated; })) continue;
    // A digest knows its cuts. They are found by the order of the rows, which it does not keep.
    for (Trace& trace : file)
      if (trace.notes.cuts.empty()) trace.notes.cuts = {find_cut(trace)};
  }
}

// The names that distinguish ranks; for a digest the name of the file it was made from.
std::vector<std::string> names_of(std::span<const std::string> paths, const Files& files) {
  std::vector<std::string> names(paths.begin(), paths.end());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!files[i].empty() && !files[i][0].metadata.path.empty())
      names[i] = files[i][0].metadata.path;
  return names;
}

// Leaves files out that are not of one job with the others.
void keep_one_job(std::span<const std::string> paths, Files& files, Run& run) {
  JobsOfFiles found = jobs_of(files, names_of(paths, files));
  const auto& left_out = found.left_out;
  run.jobs = std::move(found.jobs);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!left_out[i]) continue;
    files[i].clear();
    run.inputs[i].of_other_job = true;
    run.inputs[i].error =
        Error{.what = *left_out[i],
              .file = paths[i],
              .byte = {},
              .hint = "analyse each job alone; stepscope compare A B compares two captures"};
  }
}

void report_inputs(const Files& files, Run& run) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    InputReport& input = run.inputs[i];
    for (const Trace& trace : files[i]) {
      input.format = trace.metadata.format;
      input.clock = trace.metadata.clock;
      input.text_bytes = trace.metadata.text_bytes;
      input.notes.merge(trace.notes);
      if (const auto at = trace.metadata.texts.find("damage"); at != trace.metadata.texts.end())
        input.damage = at->second;
      if (trace.metadata.world_size)
        run.world_size = std::max(run.world_size.value_or(0), *trace.metadata.world_size);
    }
  }
}

// Gives each trace without a rank one: from its name, as the only file, or by order. Several traces
// of one file keep its order.
void assign_ranks(std::span<const std::string> paths, Files& files, Run& run,
                  std::vector<RankSource>& sources) {
  const std::vector<std::string> names_of_files = names_of(paths, files);
  sources.assign(files.size(), RankSource::metadata);
  std::vector<std::size_t> unknown;
  std::vector<std::string> names;
  std::size_t readable = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) continue;
    ++readable;
    if (files[i].size() > 1 || files[i][0].metadata.rank) continue;
    unknown.push_back(i);
    names.push_back(names_of_files[i]);
  }
  const auto named = ranks_from_names(names, run.world_size);
  std::map<int, int> taken;
  for (const auto& file : files)
    for (const Trace& trace : file)
      if (trace.metadata.rank) ++taken[*trace.metadata.rank];
  int next = 0;
  for (std::size_t k = 0; k < unknown.size(); ++k) {
    const std::size_t i = unknown[k];
    if (named[k]) {
      files[i][0].metadata.rank = named[k];
      sources[i] = RankSource::file_name;
      continue;
    }
    while (taken.contains(next)) ++next;
    files[i][0].metadata.rank = next++;
    sources[i] = readable == 1 ? RankSource::only_file : RankSource::order;
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (Trace& trace : files[i]) {
      if (trace.metadata.rank) continue;
      while (taken.contains(next)) ++next;
      trace.metadata.rank = next++;
      sources[i] = RankSource::order;
    }
  }
}

struct Span {
  Ns begin{};
  Ns end{};
};

Span span_of(const Trace& trace) {
  Span span{Ns::max(), Ns::min()};
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    // The profiler's own row may extend beyond the recorded events.
    if (trace.slices.category[i] == Category::trace_window) continue;
    span.begin = std::min(span.begin, trace.slices.start[i]);
    span.end = std::max(span.end, trace.slices.start[i] + trace.slices.dur[i]);
  }
  return span;
}

// The smallest and largest id in use; 0 if no id is in use.
struct IdRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

IdRange range_of(const std::vector<std::uint32_t>& ids) {
  IdRange range;
  for (const std::uint32_t id : ids) {
    if (id == 0) continue;
    range.first = range.first == 0 ? id : std::min(range.first, id);
    range.last = std::max(range.last, id);
  }
  return range;
}

// The shift that makes the ids of another window distinct from those before; profilers count anew
// in each window. 0 if they are distinct already, or if there is no room.
std::uint32_t shift_of(const std::vector<std::uint32_t>& have,
                       const std::vector<std::uint32_t>& more) {
  const IdRange a = range_of(have);
  const IdRange b = range_of(more);
  if (a.last < b.first || b.last < a.first || b.last == 0) return 0;
  const std::uint32_t shift = a.last - b.first + 1;
  return b.last <= std::numeric_limits<std::uint32_t>::max() - shift ? shift : 0;
}

void separate_ids(const Trace& have, Trace& more) {
  const auto move = [](std::vector<std::uint32_t>& ids, std::uint32_t shift) {
    for (std::uint32_t& id : ids)
      if (id != 0) id += shift;
  };
  move(more.slices.external_id, shift_of(have.slices.external_id, more.slices.external_id));
  const std::uint32_t shift = shift_of(have.slices.correlation, more.slices.correlation);
  move(more.slices.correlation, shift);
  constexpr std::int64_t widest = std::numeric_limits<std::int32_t>::max();
  for (std::int32_t& record : more.syncs.wait_on_record_correlation) {
    const std::int64_t moved = std::int64_t{record} + shift;
    if (record > 0) record = moved <= widest ? static_cast<std::int32_t>(moved) : -1;
  }
}

// Adds a file of a rank that was read already: another window of it, or an error that names both
// files.
void add_window(RankTrace& have, std::vector<Span>& spans, Trace&& trace, Run& run) {
  if (spans.empty()) spans.push_back(span_of(have.trace));
  const Span span = span_of(trace);
  const bool one_clock =
      have.trace.metadata.clock == Clock::unix_epoch && trace.metadata.clock == Clock::unix_epoch;
  const bool disjoint = std::ranges::all_of(
      spans, [&](Span s) { return s.end <= span.begin || span.end <= s.begin; });
  if (one_clock && disjoint) {
    spans.push_back(span);
    separate_ids(have.trace, trace);
    absorb(have.trace, std::move(trace));
    return;
  }
  run.errors.push_back(
      {.what = "claims rank " + std::to_string(have.rank) + ", and so does " +
               have.trace.metadata.path +
               (one_clock ? " for the same time" : ", and their clocks have no common start") +
               "; only that one is used",
       .file = trace.metadata.path,
       .hint = "give the files of one run, or rename them so that each has its own rank"});
}

void complete_groups_of(Run& run) {
  std::vector<int> ranks;
  std::vector<Metadata*> of;
  for (RankTrace& rank : run.ranks) {
    ranks.push_back(rank.rank);
    of.push_back(&rank.trace.metadata);
  }
  complete_groups(ranks, of);
}

}  // namespace

Result<std::vector<Trace>> read_file_sealed(const std::string& path, const ReadOptions& options) {
  Files files(1);
  auto traces =
      read_file(path, {.threads = options.threads, .stop = options.stop, .window = options.window});
  if (!traces) return traces.error();
  if (options.stop != nullptr && options.stop->requested()) return interrupted(path);
  files[0] = *std::move(traces);
  note_cuts(files);
  for (Trace& trace : files[0]) seal(trace, std::max(options.threads.threads, 1U), options.rules);
  return std::move(files[0]);
}

Run read_run(std::span<const std::string> files, const ReadOptions& options) {
  Run run;
  Files traces = read_files(files, options, run);
  if (options.stop == nullptr || !options.stop->requested()) keep_one_job(files, traces, run);
  note_cuts(traces);
  report_inputs(traces, run);
  if (options.stop != nullptr && options.stop->requested()) return run;
  std::vector<RankSource> sources;
  assign_ranks(files, traces, run, sources);
  std::map<int, std::size_t> place;
  std::vector<std::vector<Span>> spans;  // of ranks of several files
  for (std::size_t i = 0; i < traces.size(); ++i)
    for (Trace& trace : traces[i]) {
      const int rank = trace.metadata.rank.value_or(0);
      if (!run.inputs[i].rank) run.inputs[i].rank = rank;
      const auto [at, fresh] = place.try_emplace(rank, run.ranks.size());
      if (fresh) {
        spans.emplace_back();
        run.ranks.push_back({rank, sources[i], std::move(trace)});
      } else {
        add_window(run.ranks[at->second], spans[at->second], std::move(trace), run);
      }
    }
  std::ranges::sort(run.ranks, {}, &RankTrace::rank);
  complete_groups_of(run);
  const unsigned threads = std::max(options.threads.threads, 1U);
  if (run.ranks.size() >= threads)
    parallel_for(run.ranks.size(), threads,
                 [&](std::size_t r) { seal(run.ranks[r].trace, 1, options.rules); });
  else
    for (RankTrace& rank : run.ranks) seal(rank.trace, threads, options.rules);
  return run;
}

}  // namespace stepscope
