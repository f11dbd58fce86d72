// SPDX-License-Identifier: Apache-2.0
// Events that a reader could not use or had to mend, counted by reason. One bad event never ends an
// import, and nothing is dropped in silence.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/event/category.h"
#include "stepscope/event/metadata.h"
#include "stepscope/event/name_rules.h"

namespace stepscope {

// A file that ends too early (capture_cut.h).
struct CaptureCut {
  Ns end{};          // last end of its rows
  Ns complete_to{};  // rows that begin before are all there; Ns::min(): not known of any row
};

struct ImportNotes {
  std::uint64_t events = 0;                     // complete elements of traceEvents
  bool truncated = false;                       // the file ends in the middle
  std::map<std::string, std::uint64_t> counts;  // reason → count, e.g. "negative_duration"
  std::vector<CaptureCut> cuts;                 // of a rank: one for each file that was cut
  std::map<std::string, std::uint64_t>
      first_byte;  // reason → byte (of the inflated text) of its first case

  void add(const std::string& reason, std::uint64_t byte, std::uint64_t times = 1);
  void merge(const ImportNotes& other);
};

// The trace of one rank as columns. A reader, or a test by hand, fills it through append(), then it
// is seal()ed once. Analyses take `const Trace&`. All vectors of one table have one length; the
// index of a row is its id.
//
// Instants are Ns on the trace's clock: since the UNIX epoch (Clock::unix_epoch), or since an
// origin of the profiler's own (Clock::relative). The times of two relative traces cannot be
// compared.

enum class SliceId : std::uint32_t {};
enum class TrackId : std::uint32_t {};
constexpr std::uint32_t index(SliceId id) { return static_cast<std::uint32_t>(id); }
constexpr std::uint32_t index(TrackId id) { return static_cast<std::uint32_t>(id); }
inline constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();
inline constexpr SliceId no_slice{no_row};

// A host thread, or one stream of a device.
struct Track {
  std::int64_t pid = 0;              // OS pid; for a stream the device index
  std::int64_t tid = 0;              // OS tid; for a stream the stream id
  StringId pid_text = empty_string;  // if the file names the process or thread with a string
  StringId tid_text = empty_string;
  StringId process_name = empty_string;
  StringId thread_name = empty_string;
  bool device = false;             // holds device rows (kernels, copies, sync, gpu annotations)
  std::int32_t device_index = -1;  // GPU index; -1 for a host thread
  std::uint32_t first = 0;         // its slices are [first, first + count) after seal()
  std::uint32_t count = 0;
};

// Complete slices. After seal(): sorted by track, then start, then longest first.
struct Slices {
  std::vector<Ns> start;
  std::vector<Ns> dur;  // never negative
  std::vector<StringId> name;
  std::vector<TrackId> track;
  std::vector<Category> category;
  std::vector<std::uint32_t> correlation;  // runtime call ↔ device work; 0 = none
  std::vector<std::uint32_t> external_id;  // operator ↔ runtime call, device work; 0 = none
  std::vector<std::uint32_t> detail;       // row of the category's detail table, or no_row
  // The class of kernels and profiler ranges follows from the kernel's name, of other rows from the
  // operator's. Memory copies and memsets are `copy`. seal() fills it. Kernels whose names show no
  // class then get it from their launch (analysis/steps/rank_index.h).
  std::vector<NameClass> kind;

  [[nodiscard]] std::size_t size() const { return start.size(); }
  [[nodiscard]] Ns end(SliceId id) const { return start[index(id)] + dur[index(id)]; }
};

// Details of cpu_op (and user_annotation) rows recorded with shapes. Texts are as in the file
// ("[[8, 16], []]").
struct OpDetails {
  std::vector<StringId> input_dims;
  std::vector<StringId> input_types;      // ["float", "c10::BFloat16", ""]
  std::vector<StringId> concrete_inputs;  // ["", "[1, 1]", "False"]
  std::vector<std::int32_t>
      sequence;  // autograd sequence number, links forward and backward; -1 = none
  std::vector<std::int32_t> forward_thread;  // nonzero only in backward

  [[nodiscard]] std::size_t size() const { return input_dims.size(); }
};

// Details of memcpy and memset rows.
struct CopyDetails {
  std::vector<Bytes> bytes;  // -1 = not recorded
  [[nodiscard]] std::size_t size() const { return bytes.size(); }
};

// Details of sync rows ("Stream Wait Event"): which stream waits for which record. -1 = unknown.
struct SyncDetails {
  std::vector<std::int32_t> stream;
  std::vector<std::int32_t> wait_on_stream;
  std::vector<std::int32_t> wait_on_record_correlation;  // correlation of the cudaEventRecord call
  [[nodiscard]] std::size_t size() const { return stream.size(); }
};

// Metadata of one collective as one rank recorded it, on a kernel, an operator (record_param_comms)
// or an annotation. Element counts are this rank's. -1 = not recorded.
struct Collective {
  SliceId slice = no_slice;
  StringId name = empty_string;        // "allreduce", "_allgather_base", ...
  StringId dtype = empty_string;       // c10 names: Float, BFloat16, ...
  StringId group_name = empty_string;  // Process Group Name
  StringId group_description = empty_string;
  StringId group_ranks = empty_string;  // "[0, 1, ...]", may be cut after 30 ranks
  StringId in_split = empty_string;
  StringId out_split = empty_string;
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int64_t seq = -1;  // per group, equal on all ranks
  std::int32_t group_size = -1;
  std::int32_t global_rank_start = -1;
  std::int32_t global_rank_stride = -1;
  std::int32_t src_rank = -1;
  std::int32_t dst_rank = -1;
  // "Rank": the root within the group (broadcast, reduce, gather, scatter) or the peer (send,
  // recv); otherwise the recording rank.
  std::int32_t rank = -1;
  bool is_async = false;
};

// Allocator events ([memory] instants).
struct MemoryEvents {
  std::vector<Ns> time;
  std::vector<TrackId> track;
  std::vector<std::uint64_t> address;
  std::vector<Bytes> bytes;            // > 0 allocated, < 0 freed
  std::vector<Bytes> total_allocated;  // -1 = not recorded
  std::vector<Bytes> total_reserved;   // -1 = not recorded
  std::vector<std::int16_t> device;    // -1 = CPU
  [[nodiscard]] std::size_t size() const { return time.size(); }
};

// Numeric readings: counter tracks (`C` events) and the metrics of profiler_range rows.
struct Counters {
  std::vector<Ns> time;
  std::vector<StringId> metric;
  std::vector<double> value;
  std::vector<SliceId> slice;  // the profiler_range row it belongs to, or no_slice
  [[nodiscard]] std::size_t size() const { return time.size(); }
};

struct Trace {
  Metadata metadata;
  ImportNotes notes;
  StringPool strings;
  std::vector<Track> tracks;
  Slices slices;
  OpDetails ops;
  CopyDetails copies;
  SyncDetails syncs;
  std::vector<Collective> collectives;  // after seal(): by slice
  MemoryEvents memory;                  // after seal(): by time
  Counters counters;

  [[nodiscard]] std::string_view name(SliceId id) const { return strings[slices.name[index(id)]]; }
  [[nodiscard]] const Track& track(TrackId id) const { return tracks[index(id)]; }
  // The collective recorded on this slice, or null. After seal().
  [[nodiscard]] const Collective* collective(SliceId id) const;
  // Whether this device slice is a communication kernel. After seal().
  [[nodiscard]] bool is_communication(SliceId id) const {
    return slices.category[index(id)] == Category::kernel &&
           slices.kind[index(id)] == NameClass::communication;
  }
  // Whether this device slice is a kernel that waits (for an event, a flag, a peer) and does no
  // work. After seal().
  [[nodiscard]] bool is_wait(SliceId id) const {
    return slices.category[index(id)] == Category::kernel &&
           slices.kind[index(id)] == NameClass::wait;
  }
  // Whether this device slice is a kernel that computes, or copies as a kernel. After seal().
  [[nodiscard]] bool is_compute(SliceId id) const {
    return slices.category[index(id)] == Category::kernel &&
           slices.kind[index(id)] != NameClass::communication &&
           slices.kind[index(id)] != NameClass::wait;
  }
  [[nodiscard]] std::size_t bytes() const;  // all columns, without the string pool
};

// One slice by value, for filling a trace.
struct Slice {
  Ns start{};
  Ns dur{};
  StringId name = empty_string;
  TrackId track{};
  Category category = Category::other;
  std::uint32_t correlation = 0;
  std::uint32_t external_id = 0;
  std::uint32_t detail = no_row;
};
SliceId append(Trace& trace, const Slice& slice);

// Sorts every table, assigns each track its range of slices, maps slice ids held by other tables,
// and classifies each distinct name by `rules` (null: the program's own). Call it once, after the
// last append. It uses at most `threads` threads.
void seal(Trace& trace, unsigned threads = 1, const NameRules* rules = nullptr);

// Frees what only accounts of one rank read: external ids, details of operators, collectives,
// memory events and counters; without syncs also correlations and rows of details. Nobody may read
// them.
void release_details(Trace& trace);

}  // namespace stepscope
