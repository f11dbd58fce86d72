// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/evidence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/collectives/collective_times.h"
#include "stepscope/analysis/steps/counted_steps.h"
#include "stepscope/stats/summary.h"

namespace stepscope {

std::vector<double> PartTimes::excess(std::size_t from) const {
  std::vector<double> e;
  for (std::size_t k = from; k < own.size(); ++k) e.push_back(own[k] - peers[k]);
  return e;
}

std::vector<double> PartTimes::usual_excess(std::size_t from) const {
  std::vector<double> e;
  for (std::size_t k = from; k < own.size(); ++k) e.push_back(usual[k] - usual_peers[k]);
  return e;
}

namespace {

// The part of a piece of a rank's own work; absent for messages and copies.
std::optional<WorkPart> work_part(NodeKind kind) {
  if (kind == NodeKind::host || kind == NodeKind::launch) return WorkPart::host;
  if (kind == NodeKind::compute) return WorkPart::compute;
  return std::nullopt;
}

// By piece of a view: its time, and at most what the same piece takes in the median step.
struct PieceTime {
  double all = 0;
  double usual = 0;
};

std::vector<PieceTime> piece_times(const WhatIfInputs& in, std::size_t view) {
  const auto pieces = in.medians.pieces.of(view);
  std::vector<std::uint32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(pieces[i].key, i); });
  std::vector<PieceTime> times(pieces.size());
  std::vector<double> same;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    same.clear();
    for (; last < order.size() && pieces[order[last]].key == pieces[order[first]].key; ++last)
      same.push_back(static_cast<double>(time_of(in.replay, pieces[order[last]].node).count()));
    const double median = quantile(same, 0.5).value_or(0);
    for (std::size_t i = first; i < last; ++i)
      times[order[i]] = {same[i - first], std::min(same[i - first], median)};
    first = last;
  }
  return times;
}

// The lower median of the other ranks of the role in the same step; absent without such a rank.
class PeerTimes {
 public:
  PeerTimes(const WhatIfInputs& in, std::span<const std::vector<double>> of_view) {
    for (std::size_t v = 0; v < of_view.size(); ++v)
      for (std::size_t k = 0; k < of_view[v].size(); ++k)
        of_step_[{in.roles[v], in.views[v].steps[k].index}].emplace_back(of_view[v][k], v);
    for (auto& [step, times] : of_step_) std::ranges::sort(times);
  }
  [[nodiscard]] std::optional<double> at(std::string_view role, std::int64_t step,
                                         std::size_t view) const {
    const auto& times = of_step_.at({role, step});
    if (times.size() < 2) return std::nullopt;
    const auto own = static_cast<std::size_t>(
        std::ranges::find(times, view, [](const auto& t) { return t.second; }) - times.begin());
    const std::size_t middle = (times.size() - 2) / 2;
    return times[middle < own ? middle : middle + 1].first;
  }

 private:
  std::map<std::pair<std::string_view, std::int64_t>, std::vector<std::pair<double, std::size_t>>>
      of_step_;
};

// Ranks that are alone in their role are compared with other stages (peer_median.h).
void take_alone(const WhatIfInputs& in, std::size_t view, RankParts& parts) {
  for (const StepPiece& p : in.medians.pieces.of(view)) {
    const Ns median = in.medians.of_node[p.node];
    const auto part = work_part(in.replay.graph->kind[p.node]);
    if (median < Ns{0} || p.step < 0 || !part) continue;
    PartTimes& times = parts[static_cast<std::size_t>(*part)];
    const auto own = static_cast<double>(time_of(in.replay, p.node).count());
    times.own[static_cast<std::size_t>(p.step)] += own;
    times.usual[static_cast<std::size_t>(p.step)] += own;
    times.peers[static_cast<std::size_t>(p.step)] += static_cast<double>(median.count());
    times.usual_peers[static_cast<std::size_t>(p.step)] += static_cast<double>(median.count());
  }
}

}  // namespace

std::vector<Ns> waits_of_steps(const WhatIfInputs& in) {
  std::vector<Ns> waits(in.views.size());
  for (std::size_t v = 0; v < waits.size(); ++v) {
    const auto& calls = in.collectives.matches.ranks[v].calls;
    for (std::size_t c = 0; c < calls.size(); ++c)
      waits[v] += wait_of(calls[c], in.collectives.times.by_view[v][c]);
    waits[v] /= std::max<std::int64_t>(1, std::ssize(in.views[v].steps));
  }
  return waits;
}

Ns kept_waiting(const WhatIfInputs& in, bool allocating) {
  Ns sum{};
  for (const RankView& view : in.views) {
    if (view.index->cpu_only()) return Ns::max();
    const HostIdle idle = host_idle(*view.trace, *view.index, view.steps);
    // The first of several steps does not count in the mean one.
    const std::int64_t steps = std::max<std::int64_t>(2, std::ssize(view.steps)) - 1;
    sum += (allocating ? idle.launching : idle.without_allocations()) / steps;
  }
  return sum;
}

std::vector<std::pair<std::int64_t, double>> step_lengths(const WhatIfInputs& in, bool cpu) {
  std::vector<std::pair<std::int64_t, double>> lengths;
  if (!in.replay.graph->clocks_comparable) return lengths;
  std::map<std::int64_t, std::pair<std::size_t, Ns>> ends;  // by number: views, last end
  for (const StepEnd& s : in.replay.graph->step_ends)
    ends[s.index] = {in.views.size(), *std::ranges::max_element(s.measured)};
  if (cpu)
    for (const RankView& view : in.views)
      for (const Step& s : view.steps) {
        auto& [views, last] = ends.try_emplace(s.index, 0, Ns::min()).first->second;
        ++views;
        last = std::max(last, s.end);
      }
  for (auto at = ends.begin(); at != ends.end() && std::next(at) != ends.end(); ++at) {
    const auto next = std::next(at);
    if (next->first == at->first + 1 && at->second.first == in.views.size() &&
        next->second.first == in.views.size())
      lengths.emplace_back(next->first,
                           static_cast<double>((next->second.second - at->second.second).count()));
  }
  return lengths;
}

Ns LongStep::most_saved() const {
  return Ns{std::llround(std::max(0.0, length - usual) / static_cast<double>(steps))};
}

Ns LongStep::excess(Ns gain) const { return gain * static_cast<std::int64_t>(steps); }

double LongStep::ratio(Ns gain) const {
  const double without = length - static_cast<double>(excess(gain).count());
  return without > 0 ? length / without : 1;
}

std::optional<LongStep> compared_step(const WhatIfInputs& in, std::int64_t number) {
  const std::vector<Step> steps = count_steps(in.views, in.replay.graph->clocks_comparable).of_job;
  const Step* longest = nullptr;
  for (const Step& s : steps)
    if (s.index >= number - 1 && s.index <= number + 1 &&
        (longest == nullptr || s.end - s.start > longest->end - longest->start))
      longest = &s;
  if (longest == nullptr || steps.size() < 2) return std::nullopt;
  std::vector<double> others;
  for (const Step& s : steps)
    if (&s != longest) others.push_back(static_cast<double>((s.end - s.start).count()));
  return LongStep{.length = static_cast<double>((longest->end - longest->start).count()),
                  .usual = median(others).value_or(0),
                  .steps = steps.size()};
}

std::optional<std::int64_t> step_of_work(const WhatIfInputs& in, std::uint32_t node) {
  const StepGraph& graph = *in.replay.graph;
  if (graph.kind[node] != NodeKind::host) return std::nullopt;
  const RankView& view = in.views[graph.view[node]];
  const Ns middle = graph.origin + in.replay.start(node) + graph.graph.duration[node] / 2;
  const std::int32_t step = last_step_of_host(view.steps, middle);
  return step < 0 ? std::nullopt : std::optional(view.steps[static_cast<std::size_t>(step)].index);
}

bool loads_in_workers(const RankView& view) {
  const StringPool& strings = view.trace->strings;
  for (std::uint32_t i = 0; i < strings.size(); ++i)
    if (strings[StringId{i}].find("MultiProcessingDataLoaderIter") != std::string_view::npos)
      return true;
  return false;
}

std::vector<RankParts> rank_parts(const WhatIfInputs& in, std::span<const NodeChange> data_free) {
  std::vector<RankParts> parts(in.views.size());
  std::map<std::string_view, std::size_t> ranks;  // by role
  for (const std::string& role : in.roles) ++ranks[role];
  // Time of loading by node: of the piece's time, that is data.
  const auto loading = [&](std::uint32_t node) {
    const auto at = std::ranges::lower_bound(data_free, node, {}, &NodeChange::node);
    return at != data_free.end() && at->node == node ? -static_cast<double>(at->work.count()) : 0.0;
  };
  for (std::size_t v = 0; v < parts.size(); ++v) {
    const std::size_t steps = in.views[v].steps.size();
    for (PartTimes& p : parts[v])
      for (auto* times : {&p.own, &p.usual, &p.peers, &p.usual_peers}) times->resize(steps);
    if (ranks[in.roles[v]] < 2) {
      take_alone(in, v, parts[v]);
      continue;
    }
    const std::vector<PieceTime> times = piece_times(in, v);
    const auto pieces = in.medians.pieces.of(v);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto part = work_part(in.replay.graph->kind[pieces[i].node]);
      if (pieces[i].step < 0 || !part) continue;
      const auto k = static_cast<std::size_t>(pieces[i].step);
      const double data = std::min(loading(pieces[i].node), times[i].all);
      const double usual_data = std::min(data, times[i].usual);
      const auto add = [&](WorkPart to, double all, double usual) {
        parts[v][static_cast<std::size_t>(to)].own[k] += all;
        parts[v][static_cast<std::size_t>(to)].usual[k] += usual;
      };
      add(*part, times[i].all - data, times[i].usual - usual_data);
      add(WorkPart::data, data, usual_data);
    }
  }
  for (std::size_t part = 0; part < work_part_names.size(); ++part) {
    for (const bool usual : {false, true}) {
      std::vector<std::vector<double>> of_view;
      for (const RankParts& p : parts) of_view.push_back(usual ? p[part].usual : p[part].own);
      const PeerTimes peers(in, of_view);
      for (std::size_t v = 0; v < parts.size(); ++v)
        for (std::size_t k = 0; k < of_view[v].size(); ++k)
          if (const auto time = peers.at(in.roles[v], in.views[v].steps[k].index, v))
            (usual ? parts[v][part].usual_peers : parts[v][part].peers)[k] = *time;
    }
  }
  return parts;
}

}  // namespace stepscope
