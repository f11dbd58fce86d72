// SPDX-License-Identifier: Apache-2.0
// append() and seal(). Readers append in file order, which is nearly sorted within a track. Sealing
// sorts an index and then moves each column once.
#include "stepscope/event/trace.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "stepscope/base/crew.h"
#include "stepscope/base/freed_memory.h"
#include "stepscope/base/result.h"
#include "stepscope/base/run_sort.h"
#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace {

using Order = std::vector<std::uint32_t>;

struct Earlier {
  const Slices* s;
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    if (s->start[a] != s->start[b]) return s->start[a] < s->start[b];
    return s->dur[a] > s->dur[b];
  }
};

// Gives each track its range of slices. Returns the slices in (track, start, longest first) order.
Order track_order(Trace& trace, unsigned threads) {
  const Slices& s = trace.slices;
  for (Track& track : trace.tracks) track.count = 0;
  for (const TrackId id : s.track) ++trace.tracks[index(id)].count;
  std::vector<std::uint32_t> next(trace.tracks.size());
  std::uint32_t at = 0;
  for (std::size_t t = 0; t < trace.tracks.size(); ++t) {
    trace.tracks[t].first = next[t] = at;
    at += trace.tracks[t].count;
  }
  Order order(s.size());
  for (std::uint32_t i = 0; i < s.size(); ++i) order[next[index(s.track[i])]++] = i;
  parallel_for(trace.tracks.size(), threads, [&](std::size_t t) {
    auto track = std::span(order).subspan(trace.tracks[t].first, trace.tracks[t].count);
    run_sort(track, Earlier{&s});
  });
  return order;
}

// Each column moves into the memory of the previous one: allocating memory costs more than the
// move.
template <class T, class... More>
void permute(std::span<const std::uint32_t> order, std::vector<T>& first, More&... more) {
  std::vector<T> sorted(order.size());
  const auto move = [&](std::vector<T>& column) {
    sorted.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
    std::swap(column, sorted);
  };
  move(first);
  (move(more), ...);
}

void permute_slices(Slices& s, std::span<const std::uint32_t> order, unsigned threads) {
  const std::vector<std::function<void()>> columns = {
      [&] { permute(order, s.start, s.dur); },
      [&] { permute(order, s.correlation, s.external_id, s.detail); },
      [&] { permute(order, s.name); }, [&] { permute(order, s.track); },
      [&] { permute(order, s.category); }};
  parallel_for(columns.size(), threads, [&](std::size_t c) { columns[c](); });
}

void shrink(Trace& trace) {
  // The spare capacity of a long column was never touched, so a little of it costs no memory.
  constexpr std::size_t short_column = 1 << 16;
  const auto fit_one = [](auto& column) {
    const std::size_t spare = column.capacity() - column.size();
    if (spare > (column.size() < short_column ? 0 : column.size() / 4)) column.shrink_to_fit();
  };
  const auto fit = [&](auto&... columns) { (fit_one(columns), ...); };
  Slices& s = trace.slices;
  fit(s.start, s.dur, s.name, s.track, s.category, s.correlation, s.external_id, s.detail);
  OpDetails& o = trace.ops;
  fit(o.input_dims, o.input_types, o.concrete_inputs, o.sequence, o.forward_thread);
  fit(trace.copies.bytes, trace.collectives);
}

void sort_memory(MemoryEvents& m) {
  Order order(m.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return m.time[i]; });
  permute(order, m.time);
  permute(order, m.track);
  permute(order, m.address);
  permute(order, m.bytes);
  permute(order, m.total_allocated);
  permute(order, m.total_reserved);
  permute(order, m.device);
}

// Maps slice ids held by other tables to the new places of the slices.
void remap_slice_ids(Trace& trace, std::span<const std::uint32_t> order) {
  const bool counters =
      std::ranges::any_of(trace.counters.slice, [](SliceId id) { return id != no_slice; });
  if (trace.collectives.empty() && !counters) return;
  Order place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (Collective& c : trace.collectives) c.slice = SliceId{place[index(c.slice)]};
  for (SliceId& id : trace.counters.slice)
    if (id != no_slice) id = SliceId{place[index(id)]};
}

void classify_slices(Trace& trace, const NameRules& rules) {
  constexpr auto unseen = static_cast<NameClass>(name_class_count);
  std::vector<NameClass> kernels(trace.strings.size(), unseen);
  std::vector<NameClass> operators(trace.strings.size(), unseen);
  Slices& s = trace.slices;
  s.kind.resize(s.size());
  for (std::size_t i = 0; i < s.size(); ++i) {
    const Category c = s.category[i];
    if (c == Category::memcpy || c == Category::memset) {
      s.kind[i] = NameClass::copy;
      continue;
    }
    const bool kernel = is_device_work(c) || c == Category::profiler_range;
    NameClass& known = (kernel ? kernels : operators)[index(s.name[i])];
    if (known == unseen)
      known = kernel ? classify_kernel(trace.strings[s.name[i]], rules)
                     : classify_operator(trace.strings[s.name[i]], rules);
    s.kind[i] = known;
  }
}

}  // namespace

SliceId append(Trace& trace, const Slice& slice) {
  Slices& s = trace.slices;
  const auto id = static_cast<std::uint32_t>(s.size());
  check(s.size() < no_row, "a trace holds less than 2^32 - 1 slices");
  s.start.push_back(slice.start);
  s.dur.push_back(slice.dur);
  s.name.push_back(slice.name);
  s.track.push_back(slice.track);
  s.category.push_back(slice.category);
  s.correlation.push_back(slice.correlation);
  s.external_id.push_back(slice.external_id);
  s.detail.push_back(slice.detail);
  return SliceId{id};
}

void seal(Trace& trace, unsigned threads, const NameRules* rules) {
  {
    const Order order = track_order(trace, threads);
    if (!std::ranges::is_sorted(order)) {
      permute_slices(trace.slices, order, threads);
      remap_slice_ids(trace, order);
    }
  }
  shrink(trace);
  std::ranges::stable_sort(trace.collectives, {},
                           [](const Collective& c) { return index(c.slice); });
  if (!std::ranges::is_sorted(trace.memory.time)) sort_memory(trace.memory);
  classify_slices(trace, rules != nullptr ? *rules : built_in_name_rules());
}

const Collective* Trace::collective(SliceId id) const {
  const auto at = std::ranges::lower_bound(collectives, index(id), {},
                                           [](const Collective& c) { return index(c.slice); });
  return at != collectives.end() && at->slice == id ? &*at : nullptr;
}

std::size_t Trace::bytes() const {
  const auto sum = [](const auto&... columns) {
    return ((columns.size() * sizeof(columns[0])) + ...);
  };
  return sum(slices.start, slices.dur, slices.name, slices.track, slices.category,
             slices.correlation, slices.external_id, slices.detail, slices.kind) +
         sum(ops.input_dims, ops.input_types, ops.concrete_inputs, ops.sequence,
             ops.forward_thread) +
         sum(copies.bytes, syncs.stream, syncs.wait_on_stream, syncs.wait_on_record_correlation) +
         sum(collectives, tracks, counters.time, counters.metric, counters.value, counters.slice) +
         sum(memory.time, memory.track, memory.address, memory.bytes, memory.total_allocated,
             memory.total_reserved, memory.device);
}

void release_details(Trace& trace) {
  release(trace.slices.external_id);
  release(trace.ops);
  release(trace.collectives);
  release(trace.memory);
  release(trace.counters);
  if (trace.syncs.size() > 0) return;
  release(trace.slices.correlation);
  release(trace.slices.detail);
}

void ImportNotes::add(const std::string& reason, std::uint64_t byte, std::uint64_t times) {
  counts[reason] += times;
  const auto [at, fresh] = first_byte.try_emplace(reason, byte);
  if (!fresh) at->second = std::min(at->second, byte);
}

void ImportNotes::merge(const ImportNotes& other) {
  events += other.events;
  truncated = truncated || other.truncated;
  cuts.insert(cuts.end(), other.cuts.begin(), other.cuts.end());
  for (const auto& [reason, times] : other.counts) add(reason, other.first_byte.at(reason), times);
}

}  // namespace stepscope
