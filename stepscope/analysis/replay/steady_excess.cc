// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/steady_excess.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "stepscope/stats/more_than_chance.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::array compared_kinds = {NodeKind::host, NodeKind::compute, NodeKind::copy};

// A disturbance can only lengthen a rank's steps, and only some of them. The difference between the
// best times of a rank and of its peers is therefore the rank's own. Different steps differ by less
// than this.
constexpr double at_best_quantile = 0.25;
constexpr double own_share = 0.125;  // more than the peers' best
constexpr double step_share = 0.05;  // of the mean step

double mean_step(std::span<const Step> steps) {
  const Ns wall = std::accumulate(steps.begin(), steps.end(), Ns{0},
                                  [](Ns sum, const Step& s) { return sum + (s.end - s.start); });
  return static_cast<double>(wall.count()) / static_cast<double>(steps.size());
}

// Work of one rank and kind, by step, in ns.
struct Work {
  std::vector<double> own;
  std::vector<double> peers;  // medians of the same pieces

  [[nodiscard]] std::vector<double> excess() const {
    std::vector<double> all(own.size());
    std::ranges::transform(own, peers, all.begin(), std::minus{});
    return all;
  }
};

// Excess of the rank's best time over its peers' best time.
double more_at_best(const Work& work) {
  return *quantile(work.own, at_best_quantile) - *quantile(work.peers, at_best_quantile);
}

bool slow_at_best(const Work& work, double step) {
  const double more = more_at_best(work);
  return more >= own_share * *quantile(work.peers, at_best_quantile) && more >= step_share * step;
}

// Index in `compared_kinds`; compared_kinds.size() for other kinds.
std::size_t place_of(NodeKind kind) {
  if (kind == NodeKind::launch) kind = NodeKind::host;
  return static_cast<std::size_t>(std::ranges::find(compared_kinds, kind) - compared_kinds.begin());
}

}  // namespace

std::vector<SteadyExcess> steady_excess(const Replay& replay, std::span<const RankView> views,
                                        const PeerMedians& medians) {
  const StepGraph& graph = *replay.graph;
  std::vector<std::array<Work, compared_kinds.size()>> work(views.size());
  for (std::size_t v = 0; v < views.size(); ++v)
    for (Work& of_kind : work[v]) {
      of_kind.own.resize(views[v].steps.size());
      of_kind.peers.resize(views[v].steps.size());
    }
  std::vector<bool> compared(views.size());
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const std::size_t kind = place_of(graph.kind[n]);
    const Ns median = medians.of_node[n];
    if (median < Ns{0} || kind == compared_kinds.size()) continue;
    const std::uint32_t v = graph.view[n];
    const auto& steps = views[v].steps;
    const auto after =
        std::ranges::upper_bound(steps, replay.start[n] + graph.origin, {}, &Step::start);
    if (after == steps.begin()) continue;
    const Ns own = replay.measured.duration[n] + replay.measured.delay[n];
    const auto step = static_cast<std::size_t>(after - steps.begin()) - 1;
    work[v][kind].own[step] += static_cast<double>(own.count());
    work[v][kind].peers[step] += static_cast<double>(median.count());
    compared[v] = true;
  }
  std::vector<SteadyExcess> found;
  const auto questions = std::ranges::count(compared, true) * std::ssize(compared_kinds);
  const double chance = job_chance / static_cast<double>(std::max<std::ptrdiff_t>(questions, 1));
  for (std::size_t v = 0; v < views.size(); ++v) {
    const std::size_t steps = views[v].steps.size();
    if (!compared[v] || steps < least_for_chance) continue;
    const auto count = static_cast<double>(steps);
    const double step = mean_step(views[v].steps);
    for (std::size_t k = 0; k < compared_kinds.size(); ++k) {
      const std::vector<double> of_step = work[v][k].excess();
      const double mean = std::accumulate(of_step.begin(), of_step.end(), 0.0) / count;
      if (!more_than_chance(of_step, chance) && !slow_at_best(work[v][k], step)) continue;
      found.push_back({.rank = views[v].rank,
                       .kind = compared_kinds[k],
                       .mean = Ns{static_cast<std::int64_t>(mean)},
                       .at_best = Ns{static_cast<std::int64_t>(more_at_best(work[v][k]))},
                       .in_steps = static_cast<std::size_t>(
                           std::ranges::count_if(of_step, [](double x) { return x > 0; })),
                       .steps = steps});
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &SteadyExcess::mean);
  return found;
}

}  // namespace stepscope
