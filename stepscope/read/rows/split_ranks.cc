// SPDX-License-Identifier: Apache-2.0
// Rows are distributed in file order. Strings are interned again in each rank's pool, through a map
// that grows on demand.
#include "stepscope/read/rows/split_ranks.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/bytes/document.h"

namespace stepscope {
namespace {

// N from "rank N", "Rank 3 training loop process", "[rank 12] python"; nullopt for other names.
std::optional<int> rank_in_name(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  const std::size_t at = lower.find("rank");
  if (at == std::string::npos || (at > 0 && is_alphanumeric(lower[at - 1]))) return std::nullopt;
  std::size_t p = lower.find_first_not_of(" _-:=#", at + 4);
  if (p == std::string::npos || !is_digit(lower[p])) return std::nullopt;
  int rank = 0;
  for (; p < lower.size() && is_digit(lower[p]) && rank < 100'000'000; ++p)
    rank = rank * 10 + (lower[p] - '0');
  return rank;
}

// "TP00" of "[TP00] 100"; empty for other process ids.
std::string_view tag_of(std::string_view pid) {
  const std::size_t end = pid.find("] ");
  return !pid.starts_with('[') || end == std::string_view::npos ? std::string_view()
                                                                : pid.substr(1, end - 1);
}

// The number of a tag: 3 of "TP03"; nullopt unless it is the only one.
std::optional<int> number_in(std::string_view tag) {
  tag.remove_prefix(std::min(tag.find_first_of("0123456789"), tag.size()));
  return tag.size() > 6 ? std::nullopt : number_of<int>(tag);
}

// By the tags of their process ids; all without where fewer than two tags are.
std::vector<std::optional<int>> ranks_by_tag(const Trace& trace) {
  std::map<std::string_view, int> ranks;
  for (const Track& track : trace.tracks)
    if (const auto tag = tag_of(trace.strings[track.pid_text]); !tag.empty()) ranks[tag] = -1;
  std::map<int, int> numbers;
  for (const auto& [tag, rank] : ranks)
    if (const auto number = number_in(tag)) ++numbers[*number];
  const bool own = numbers.size() == ranks.size();  // each tag has a number of its own
  int next = 0;
  for (auto& [tag, rank] : ranks) rank = own ? *number_in(tag) : next++;
  std::vector<std::optional<int>> found(trace.tracks.size());
  if (ranks.size() < 2) return found;
  for (std::size_t t = 0; t < found.size(); ++t)
    if (const auto tag = tag_of(trace.strings[trace.tracks[t].pid_text]); !tag.empty())
      found[t] = ranks[tag];
  return found;
}

// By the names of their processes, else by their ids.
std::vector<std::optional<int>> ranks_of_tracks(const Trace& trace) {
  std::vector<std::optional<int>> found;
  bool any = false;
  for (const Track& track : trace.tracks) {
    found.push_back(rank_in_name(trace.strings[track.process_name]));
    if (!found.back()) found.back() = rank_in_name(trace.strings[track.pid_text]);
    any = any || found.back();
  }
  return any ? found : ranks_by_tag(trace);
}

// One rank's part, and the map from ids of the whole to its ids.
class Part {
 public:
  explicit Part(const Trace& whole)
      : whole_(whole),
        strings_(whole.strings.size(), unmapped),
        tracks_(whole.tracks.size(), no_row) {}

  void add_slice(std::size_t i) {
    const Slices& s = whole_.slices;
    const SliceId id = append(
        trace, {.start = s.start[i],
                .dur = s.dur[i],
                .name = text(s.name[i]),
                .track = track(s.track[i]),
                .category = s.category[i],
                .correlation = s.correlation[i],
                .external_id = s.external_id[i],
                .detail = s.detail[i] == no_row ? no_row : detail(s.category[i], s.detail[i])});
    ++trace.notes.events;
    last_slice = id;
  }
  void add_collective(Collective c) {
    c.slice = last_slice;
    for (StringId* id : {&c.name, &c.dtype, &c.group_name, &c.group_description, &c.group_ranks,
                         &c.in_split, &c.out_split})
      *id = text(*id);
    trace.collectives.push_back(c);
  }
  void add_memory(std::size_t i) {
    const MemoryEvents& m = whole_.memory;
    trace.memory.time.push_back(m.time[i]);
    trace.memory.track.push_back(track(m.track[i]));
    trace.memory.address.push_back(m.address[i]);
    trace.memory.bytes.push_back(m.bytes[i]);
    trace.memory.total_allocated.push_back(m.total_allocated[i]);
    trace.memory.total_reserved.push_back(m.total_reserved[i]);
    trace.memory.device.push_back(m.device[i]);
    ++trace.notes.events;
  }
  void add_counter(std::size_t i) {
    const Counters& c = whole_.counters;
    trace.counters.time.push_back(c.time[i]);
    trace.counters.metric.push_back(text(c.metric[i]));
    trace.counters.value.push_back(c.value[i]);
    trace.counters.slice.push_back(last_slice);
  }

  Trace trace;
  SliceId last_slice = no_slice;

 private:
  static constexpr StringId unmapped{no_row};

  StringId text(StringId id) {
    StringId& mapped = strings_[index(id)];
    if (mapped == unmapped) mapped = trace.strings.intern(whole_.strings[id]);
    return mapped;
  }
  TrackId track(TrackId id) {
    std::uint32_t& mapped = tracks_[index(id)];
    if (mapped == no_row) {
      mapped = static_cast<std::uint32_t>(trace.tracks.size());
      Track copy = whole_.track(id);
      for (StringId* name : {&copy.pid_text, &copy.tid_text, &copy.process_name, &copy.thread_name})
        *name = text(*name);
      trace.tracks.push_back(copy);
    }
    return TrackId{mapped};
  }
  std::uint32_t detail(Category category, std::uint32_t row) {
    if (category == Category::memcpy || category == Category::memset) {
      trace.copies.bytes.push_back(whole_.copies.bytes[row]);
      return static_cast<std::uint32_t>(trace.copies.size() - 1);
    }
    if (category == Category::sync) {
      trace.syncs.stream.push_back(whole_.syncs.stream[row]);
      trace.syncs.wait_on_stream.push_back(whole_.syncs.wait_on_stream[row]);
      trace.syncs.wait_on_record_correlation.push_back(
          whole_.syncs.wait_on_record_correlation[row]);
      return static_cast<std::uint32_t>(trace.syncs.size() - 1);
    }
    OpDetails& ops = trace.ops;
    ops.input_dims.push_back(text(whole_.ops.input_dims[row]));
    ops.input_types.push_back(text(whole_.ops.input_types[row]));
    ops.concrete_inputs.push_back(text(whole_.ops.concrete_inputs[row]));
    ops.sequence.push_back(whole_.ops.sequence[row]);
    ops.forward_thread.push_back(whole_.ops.forward_thread[row]);
    return static_cast<std::uint32_t>(ops.size() - 1);
  }

  const Trace& whole_;
  std::vector<StringId> strings_;
  std::vector<std::uint32_t> tracks_;
};

struct Dealt {
  std::map<int, Part> parts;
  std::vector<Part*> of_track;  // by track of the whole; null = no rank
};

Dealt make_parts(const Trace& whole, const std::vector<std::optional<int>>& rank_of_track) {
  Dealt dealt;
  dealt.of_track.resize(whole.tracks.size(), nullptr);
  for (std::size_t t = 0; t < whole.tracks.size(); ++t)
    if (const auto rank = rank_of_track[t])
      dealt.of_track[t] = &dealt.parts.try_emplace(*rank, whole).first->second;
  return dealt;
}

// Counters of a slice go where the slice goes. Others have no track and go to no rank.
void deal(const Trace& whole, Dealt& dealt) {
  std::size_t collective = 0;
  std::size_t counter = 0;
  std::vector<std::size_t> counters;  // counters of a slice, by slice
  for (std::size_t i = 0; i < whole.counters.size(); ++i)
    if (whole.counters.slice[i] != no_slice) counters.push_back(i);
  const auto slice_of = [&](std::size_t i) { return index(whole.counters.slice[i]); };
  std::ranges::stable_sort(counters, {}, slice_of);
  std::uint64_t unassigned = whole.counters.size() - counters.size();
  for (std::size_t i = 0; i < whole.slices.size(); ++i) {
    Part* part = dealt.of_track[index(whole.slices.track[i])];
    if (part == nullptr)
      ++unassigned;
    else
      part->add_slice(i);
    for (; collective < whole.collectives.size() && index(whole.collectives[collective].slice) <= i;
         ++collective)
      if (part != nullptr && index(whole.collectives[collective].slice) == i)
        part->add_collective(whole.collectives[collective]);
    for (; counter < counters.size() && slice_of(counters[counter]) <= i; ++counter)
      if (part != nullptr) part->add_counter(counters[counter]);
  }
  for (std::size_t i = 0; i < whole.memory.size(); ++i)
    if (Part* part = dealt.of_track[index(whole.memory.track[i])])
      part->add_memory(i);
    else
      ++unassigned;
  if (unassigned > 0) dealt.parts.begin()->second.trace.notes.add("rows_of_no_rank", 0, unassigned);
}

}  // namespace

std::vector<Trace> split_ranks(Trace&& trace) {
  const std::vector<std::optional<int>> rank_of_track = ranks_of_tracks(trace);
  std::map<int, bool> ranks;
  for (const auto& rank : rank_of_track)
    if (rank) ranks[*rank] = true;
  const bool ours = trace.metadata.texts.contains("stepscopeRanks");
  std::vector<Trace> traces;
  if (ranks.size() < 2) {
    if (ranks.size() == 1 && !trace.metadata.rank) trace.metadata.rank = ranks.begin()->first;
    if (ours && trace.metadata.rank) read_rank_metadata(*trace.metadata.rank, trace.metadata);
    traces.push_back(std::move(trace));
    return traces;
  }
  // Rows that refer to slices are in slice order only after sorting.
  std::ranges::stable_sort(trace.collectives, {},
                           [](const Collective& c) { return index(c.slice); });
  Dealt dealt = make_parts(trace, rank_of_track);
  deal(trace, dealt);
  dealt.parts.begin()->second.trace.notes.merge([&] {
    ImportNotes notes = trace.notes;
    notes.events = 0;
    return notes;
  }());
  for (auto& [rank, part] : dealt.parts) {
    part.trace.metadata = trace.metadata;
    part.trace.metadata.rank = rank;
    if (ours) read_rank_metadata(rank, part.trace.metadata);
    traces.push_back(std::move(part.trace));
  }
  return traces;
}

}  // namespace stepscope
