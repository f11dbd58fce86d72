// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/timeline.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "stepscope/analysis/steps/steps.h"

namespace stepscope {
namespace {

// One operation before merging.
struct TimelinePiece {
  Ns start{};
  Ns end{};
  SliceId id = no_slice;
  NameClass kind = NameClass::other;
};

struct Row {
  std::size_t view = 0;
  std::string label;
  TimelineKind kind = TimelineKind::compute;
  std::vector<TimelinePiece> pieces;  // by start
};

TimelineKind kind_of(const Trace& trace, SliceId id) {
  if (trace.is_communication(id)) return TimelineKind::communication;
  return trace.slices.category[index(id)] == Category::kernel ? TimelineKind::compute
                                                              : TimelineKind::copy;
}

void add_device_rows(const RankView& view, std::size_t place, std::vector<Row>& rows) {
  const Trace& trace = *view.trace;
  for (const DeviceLane& lane : view.index->devices) {
    std::map<TimelineKind, Row> by_kind;
    for (const SliceId id : lane.ops) {
      by_kind[kind_of(trace, id)].pieces.push_back(
          {trace.slices.start[index(id)], trace.slices.end(id), id, trace.slices.kind[index(id)]});
    }
    for (auto& [kind, row] : by_kind) {
      row.view = place;
      row.kind = kind;
      row.label = "GPU " + std::to_string(lane.device) + " " +
                  std::string(timeline_kind_names[static_cast<std::size_t>(kind)]);
      rows.push_back(std::move(row));
    }
  }
}

// The outermost operators and annotations of a host thread, except whole steps.
Row host_row(const RankView& view, std::size_t place, TrackId track_id) {
  const Trace& trace = *view.trace;
  const Track& track = trace.track(track_id);
  Row row{place, "host " + std::to_string(track.tid), TimelineKind::host, {}};
  if (view.index->main_track == track_id) row.label += " (main)";
  Ns covered = Ns::min();
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    const SliceId id{i};
    const Category c = trace.slices.category[i];
    if (!is_host_row(c) || c == Category::python_function || trace.slices.start[i] < covered)
      continue;
    if (trace.name(id).starts_with("ProfilerStep#")) continue;
    row.pieces.push_back({trace.slices.start[i], trace.slices.end(id), id, trace.slices.kind[i]});
    covered = trace.slices.end(id);
  }
  return row;
}

std::vector<Row> all_rows(std::span<const RankView> views) {
  std::vector<Row> rows;
  for (std::size_t v = 0; v < views.size(); ++v) {
    add_device_rows(views[v], v, rows);
    for (const TrackId track : views[v].index->host_tracks)
      if (Row row = host_row(views[v], v, track); !row.pieces.empty())
        rows.push_back(std::move(row));
  }
  return rows;
}

bool joins(const TimelinePiece& block, const TimelinePiece& next, Ns tolerance) {
  if (tolerance.count() == 0) return false;
  if (next.start > block.end + tolerance) return false;
  // A piece too short to be visible joins its neighbour. Longer pieces join only their own kind.
  return next.kind == block.kind || next.end - next.start <= tolerance ||
         block.end - block.start <= tolerance;
}

template <class Emit>
void merge_row(const Row& row, Ns tolerance, Emit emit) {
  TimelinePiece block;
  Ns longest{};
  for (const TimelinePiece& p : row.pieces) {
    if (block.id != no_slice && joins(block, p, tolerance)) {
      block.end = std::max(block.end, p.end);
      if (p.end - p.start > longest) {
        longest = p.end - p.start;
        block.id = p.id;
        block.kind = p.kind;
      }
      continue;
    }
    if (block.id != no_slice) emit(block);
    block = p;
    longest = p.end - p.start;
  }
  if (block.id != no_slice) emit(block);
}

std::size_t count_blocks(const std::vector<Row>& rows, Ns tolerance) {
  std::size_t count = 0;
  for (const Row& row : rows) merge_row(row, tolerance, [&](const TimelinePiece&) { ++count; });
  return count;
}

std::int32_t step_around(std::span<const Step> steps, Ns at) {
  const auto step = step_at(steps, at);
  return step ? static_cast<std::int32_t>(steps[*step].index) : -1;
}

}  // namespace

Timeline make_timeline(std::span<const RankView> views, std::size_t most_blocks) {
  const std::vector<Row> rows = all_rows(views);
  Ns tolerance{};
  while (count_blocks(rows, tolerance) > most_blocks)
    tolerance = tolerance.count() == 0 ? Ns{500} : tolerance * 2;
  Timeline timeline;
  timeline.reduced = tolerance.count() > 0;
  std::unordered_map<std::string_view, std::uint32_t> names;
  for (const Row& row : rows) {
    const RankView& view = views[row.view];
    TimelineTrack track{view.rank, row.label, row.kind, {}};
    merge_row(row, tolerance, [&](const TimelinePiece& p) {
      const auto [at, fresh] =
          names.try_emplace(view.trace->name(p.id), static_cast<std::uint32_t>(names.size()));
      if (fresh) timeline.names.emplace_back(at->first);
      track.blocks.push_back({p.start, p.end - p.start, static_cast<std::uint8_t>(p.kind),
                              at->second, step_around(view.steps, p.start)});
    });
    timeline.tracks.push_back(std::move(track));
  }
  return timeline;
}

}  // namespace stepscope
