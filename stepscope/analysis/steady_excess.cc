// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steady_excess.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "stepscope/stats/more_than_chance.h"

namespace stepscope {
namespace {

constexpr std::array kinds = {NodeKind::host, NodeKind::compute, NodeKind::copy};

// The ups and downs of a machine make small differences between ranks, and the longer they last the
// less thirty steps know of their mean. So large a mean, of the mean step, they rarely make where
// most steps have a good part of it.
constexpr double large_mean = 0.125;
constexpr double good_part = 0.05;
constexpr double most_steps = 0.75;

double mean_step(std::span<const Step> steps) {
  const Ns wall = std::accumulate(steps.begin(), steps.end(), Ns{0},
                                  [](Ns sum, const Step& s) { return sum + (s.end - s.start); });
  return static_cast<double>(wall.count()) / static_cast<double>(steps.size());
}

bool large_in_most(std::span<const double> excess, double mean, double step) {
  const auto many = std::ranges::count_if(excess, [&](double x) { return x >= good_part * step; });
  return mean >= large_mean * step &&
         static_cast<double>(many) >= most_steps * static_cast<double>(excess.size());
}

// Place in `kinds`; kinds.size() where it is none of them.
std::size_t place_of(NodeKind kind) {
  if (kind == NodeKind::launch) kind = NodeKind::host;
  return static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin());
}

}  // namespace

std::vector<SteadyExcess> steady_excess(const Replay& replay, std::span<const RankView> views,
                                        const PeerMedians& medians) {
  const StepGraph& graph = *replay.graph;
  // By view, kind and step, in ns.
  std::vector<std::array<std::vector<double>, kinds.size()>> excess(views.size());
  for (std::size_t v = 0; v < views.size(); ++v)
    for (auto& of_step : excess[v]) of_step.resize(views[v].steps.size());
  std::vector<bool> compared(views.size());
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const std::size_t kind = place_of(graph.kind[n]);
    const Ns median = medians.of_node[n];
    if (median < Ns{0} || kind == kinds.size()) continue;
    const std::uint32_t v = graph.view[n];
    const auto& steps = views[v].steps;
    const auto after =
        std::ranges::upper_bound(steps, replay.start[n] + graph.origin, {}, &Step::start);
    if (after == steps.begin()) continue;
    const Ns own = replay.measured.duration[n] + replay.measured.delay[n];
    excess[v][kind][static_cast<std::size_t>(after - steps.begin()) - 1] +=
        static_cast<double>((own - median).count());
    compared[v] = true;
  }
  std::vector<SteadyExcess> found;
  const auto questions = std::ranges::count(compared, true) * std::ssize(kinds);
  const double chance = job_chance / static_cast<double>(std::max<std::ptrdiff_t>(questions, 1));
  for (std::size_t v = 0; v < views.size(); ++v) {
    const std::size_t steps = views[v].steps.size();
    if (!compared[v] || steps < least_for_chance) continue;
    const auto count = static_cast<double>(steps);
    const double step = mean_step(views[v].steps);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::vector<double>& of_step = excess[v][k];
      const double mean = std::accumulate(of_step.begin(), of_step.end(), 0.0) / count;
      if (!more_than_chance(of_step, chance) && !large_in_most(of_step, mean, step)) continue;
      found.push_back({.rank = views[v].rank,
                       .kind = kinds[k],
                       .mean = Ns{static_cast<std::int64_t>(mean)},
                       .in_steps = static_cast<std::size_t>(
                           std::ranges::count_if(of_step, [](double x) { return x > 0; })),
                       .steps = steps});
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &SteadyExcess::mean);
  return found;
}

}  // namespace stepscope
