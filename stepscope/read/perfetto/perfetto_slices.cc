// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/perfetto/perfetto_slices.h"

#include <algorithm>
#include <unordered_map>

namespace stepscope {
namespace {

// Longer slices (ns) are damage, as in other formats: a month.
constexpr Ns longest{2'600'000'000'000'000};

}  // namespace

void PerfettoSlices::add(const Edge& edge) { edges_.push_back(edge); }

void PerfettoSlices::close(const Edge& begin, const Edge& end, Trace& trace) {
  const Ns dur = end.time - begin.time;
  if (dur > longest) return trace.notes.add("duration_out_of_range", begin.byte);
  trace.slices.dur[begin.slice] = dur;
}

bool PerfettoSlices::matches(Run& run) const {
  for (std::size_t i = run.first; i < run.first + run.count; ++i) {
    const Edge& begin = edges_[i];
    const Edge& end = edges_[i + run.count];
    if (begin.track != end.track || end.time < begin.time) return false;
  }
  std::unordered_map<std::uint32_t, Ns> latest;
  for (std::size_t i = run.first; i < run.first + 2 * run.count; ++i) {
    const auto [at, fresh] = latest.try_emplace(edges_[i].track, edges_[i].time);
    run.in_order = run.in_order && (fresh || at->second <= edges_[i].time);
    at->second = edges_[i].time;
  }
  return true;
}

// The runs to be paired one to one: an end directly behind its begin always; longer runs only if
// most such runs of the file cannot be nested.
std::vector<PerfettoSlices::Run> PerfettoSlices::runs() const {
  std::vector<Run> found;
  std::size_t in_order = 0;
  std::size_t out_of_order = 0;
  for (std::size_t at = 0; at < edges_.size();) {
    Run run{.first = at};
    while (at < edges_.size() && edges_[at].begins()) ++at;
    run.count = at - run.first;
    while (at < edges_.size() && !edges_[at].begins()) ++at;
    if (run.count == 0 || at - run.first != 2 * run.count || !matches(run)) continue;
    if (run.count > 1) (run.in_order ? in_order : out_of_order) += run.count;
    found.push_back(run);
  }
  if (out_of_order <= in_order) std::erase_if(found, [](const Run& run) { return run.count > 1; });
  return found;
}

void PerfettoSlices::pair_track(std::vector<Edge>& edges, Trace& trace) {
  if (!std::ranges::is_sorted(edges, {}, &Edge::time))
    std::ranges::stable_sort(edges, {}, &Edge::time);
  std::vector<Edge> open;
  for (const Edge& e : edges) {
    if (e.begins()) {
      open.push_back(e);
    } else if (open.empty()) {
      trace.notes.add("end_without_begin", e.byte);
    } else {
      close(open.back(), e, trace);
      open.pop_back();
    }
  }
  for (const Edge& e : open) {
    trace.notes.add("begin_without_end", e.byte);
    close(e, edges.back(), trace);
  }
}

void PerfettoSlices::pair(Trace& trace) {
  std::unordered_map<std::uint32_t, std::vector<Edge>> tracks;
  const std::vector<Run> one_to_one = runs();
  auto run = one_to_one.begin();
  for (std::size_t at = 0; at < edges_.size();) {
    if (run != one_to_one.end() && run->first == at) {
      for (std::size_t i = at; i < at + run->count; ++i)
        close(edges_[i], edges_[i + run->count], trace);
      at += 2 * run->count;
      ++run;
    } else {
      tracks[edges_[at].track].push_back(edges_[at]);
      ++at;
    }
  }
  edges_ = {};
  std::vector<std::uint32_t> order;
  for (const auto& [track, edges] : tracks) order.push_back(track);
  std::ranges::sort(order);  // makes the notes' first byte independent of the map's order
  for (const std::uint32_t track : order) pair_track(tracks[track], trace);
}

}  // namespace stepscope
