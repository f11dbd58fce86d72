// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/what_if_inputs.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/result.h"

namespace stepscope {
namespace {

bool is_data_loading(std::string_view name) { return phase_of_name(name) == Phase::data; }

std::size_t place_of(Change change) {
  const auto at = std::ranges::find(changes_of_rows, change);
  check(at != changes_of_rows.end(), "not a change of rows");
  return static_cast<std::size_t>(at - changes_of_rows.begin());
}

unsigned bit(Change change) { return 1U << place_of(change); }

// The changes that remove rows of this name, if their category fits.
unsigned changes_by_name(std::string_view name) {
  unsigned changes = bit(Change::profiler_free);
  if (is_data_loading(name)) changes |= bit(Change::data_free);
  if (is_allocator_call(name)) changes |= bit(Change::allocator_free);
  if (is_garbage_collection(name)) changes |= bit(Change::collector_free);
  return changes;
}

unsigned changes_by_category(Category c) {
  unsigned changes = 0;
  if (is_host(c)) changes |= bit(Change::data_free) | bit(Change::collector_free);
  if (c == Category::runtime || c == Category::driver) changes |= bit(Change::allocator_free);
  if (c == Category::overhead) changes |= bit(Change::profiler_free);
  return changes;
}

// The spans of one view in which rows of a change are open, by change and track. Empty without such
// rows.
using Spans = std::vector<std::vector<HostSpan>>;
using ViewSpans = std::array<Spans, changes_of_rows.size()>;

ViewSpans spans_of(const RankView& view) {
  const Trace& trace = *view.trace;
  const Slices& s = trace.slices;
  std::array<unsigned, category_count> by_category{};
  for (std::size_t c = 0; c < category_count; ++c)
    by_category[c] = changes_by_category(static_cast<Category>(c));
  std::vector<unsigned> by_name(trace.strings.size());  // 0: not yet known
  ViewSpans spans;
  for (const TrackId id : view.index->host_tracks) {
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const unsigned fits = by_category[static_cast<std::size_t>(s.category[i])];
      if (fits == 0) continue;
      unsigned& named = by_name[index(s.name[i])];
      if (named == 0) named = changes_by_name(trace.name(SliceId{i}));
      const unsigned changes = fits & named;
      for (std::size_t c = 0; changes >> c != 0; ++c) {
        if ((changes >> c & 1U) == 0) continue;
        if (spans[c].empty()) spans[c].resize(trace.tracks.size());
        extend(spans[c][index(id)], s.start[i], s.start[i] + s.dur[i], SliceId{i});
      }
    }
  }
  spans[place_of(Change::copies_free)] = calls_during_copies(trace, *view.index);
  if (const std::vector<HostSpan> unseen = unseen_host(view); !unseen.empty()) {
    Spans& of_track = spans[place_of(Change::unseen_free)];
    of_track.resize(trace.tracks.size());
    for (const TrackId id : view.index->host_tracks) of_track[index(id)] = unseen;
  }
  return spans;
}

// Compute nodes whose rows load data, with their durations.
void add_loading_nodes(const Replay& replay, std::span<const RankView> views,
                       std::vector<NodeChange>& times) {
  const StepGraph& graph = *replay.graph;
  std::vector<std::vector<std::optional<bool>>> loads(views.size());  // by name
  for (const std::uint32_t n : replay.movable_of[static_cast<std::size_t>(NodeKind::compute)]) {
    const RankView& view = views[graph.view[n]];
    if (graph.slice[n] == no_slice || !view.index->cpu_only()) continue;
    auto& of_view = loads[graph.view[n]];
    of_view.resize(view.trace->strings.size());
    std::optional<bool>& known = of_view[index(view.trace->slices.name[index(graph.slice[n])])];
    if (!known) known = is_data_loading(view.trace->name(graph.slice[n]));
    if (*known) times.push_back({n, replay.measured.duration[n]});
  }
}

}  // namespace

const std::vector<NodeChange>& RowTimes::of(Change change) const { return times[place_of(change)]; }

RowTimes find_row_times(const Replay& replay, std::span<const RankView> views, unsigned threads) {
  const StepGraph& graph = *replay.graph;
  std::vector<ViewSpans> spans(views.size());
  parallel_for(views.size(), threads, [&](std::size_t v) { spans[v] = spans_of(views[v]); });
  RowTimes found;
  parallel_for(changes_of_rows.size(), threads, [&](std::size_t c) {
    if (std::ranges::all_of(spans, [&](const ViewSpans& s) { return s[c].empty(); })) return;
    for (const std::uint32_t n : replay.movable_of[static_cast<std::size_t>(NodeKind::host)]) {
      const std::uint32_t v = graph.view[n];
      if (graph.slice[n] == no_slice || spans[v][c].empty()) continue;
      Ns inside{};
      cut(
          spans[v][c][index(views[v].trace->slices.track[index(graph.slice[n])])],
          replay.start(n) + graph.origin, replay.end[n] + graph.origin,
          [&](Ns from, Ns to, SliceId) { inside += to - from; }, [](Ns, Ns) {});
      if (inside > Ns{0}) found.times[c].push_back({n, inside});
    }
  });
  std::vector<NodeChange>& data = found.times[place_of(Change::data_free)];
  add_loading_nodes(replay, views, data);
  std::ranges::sort(data, {}, &NodeChange::node);
  return found;
}

}  // namespace stepscope
