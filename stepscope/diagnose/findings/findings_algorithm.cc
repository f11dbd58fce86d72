// SPDX-License-Identifier: Apache-2.0
// All-reduces that ran on another algorithm than the model of the machine's links would choose.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/fit/expected_collectives.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// What nearly all calls of the row ran on.
NamedAlgorithm algorithm_of(const CollectiveRow& row, std::span<const NamedCalls> named) {
  std::map<NamedAlgorithm, std::uint64_t> counts;
  std::uint64_t all = 0;
  for (const NamedCalls& calls : named) {
    if (calls.kind != row.kind || calls.bytes != *row.bytes ||
        std::ranges::find(row.groups, calls.group) == row.groups.end())
      continue;
    counts[calls.algorithm] += calls.calls;
    all += calls.calls;
  }
  for (const auto& [algorithm, count] : counts)
    if (static_cast<double>(count) >= threshold::one_algorithm_share * static_cast<double>(all))
      return algorithm;
  return NamedAlgorithm::unknown;
}

bool may_be(NamedAlgorithm named, Algorithm algorithm) {
  const bool in_switch = algorithm == Algorithm::in_network || algorithm == Algorithm::hierarchical;
  switch (named) {
    case NamedAlgorithm::ring:
      return algorithm == Algorithm::ring;
    case NamedAlgorithm::not_tree:
      return algorithm == Algorithm::ring || in_switch;
    case NamedAlgorithm::tree:
      return algorithm == Algorithm::tree;
    case NamedAlgorithm::in_switch:
      return in_switch;
    case NamedAlgorithm::unknown:
      break;
  }
  return false;
}

struct Worse {
  const CollectiveRow* row = nullptr;
  NamedAlgorithm ran = NamedAlgorithm::unknown;
  AlgorithmTime ran_time;
  AlgorithmTime best;
  double measured = 0;  // seconds a call

  // By which part its transfers could be shorter: what both the model and the clock allow.
  [[nodiscard]] double saves() const {
    return 1 - best.time.count() / std::min(ran_time.time.count(), measured);
  }
};

std::optional<Worse> worse_than_best(const CollectiveRow& row, const FindingContext& context,
                                     const Network& network) {
  if (row.kind != CollectiveKind::all_reduce || !row.bytes || !row.algbw) return std::nullopt;
  const auto group =
      placement_of(row, context.job.collectives.matches.groups, network, context.world_size);
  const NamedAlgorithm ran = algorithm_of(row, context.job.algorithms);
  if (!group || ran == NamedAlgorithm::unknown) return std::nullopt;
  Worse worse{.row = &row, .ran = ran, .ran_time = {}, .best = {}};
  worse.measured = (*row.bytes / *row.algbw).count();
  const auto times = collective_algorithms(network, row.kind, *row.bytes, *group);
  const auto best = std::ranges::find_if(times, &AlgorithmTime::offered);
  const auto mine = std::ranges::find_if(
      times, [&](const AlgorithmTime& t) { return t.offered && may_be(ran, t.algorithm); });
  if (best == times.end() || mine == times.end() || best == mine) return std::nullopt;
  worse.ran_time = *mine;
  worse.best = *best;
  const double least = threshold::slower_algorithm * best->time.count();
  if (mine->time.count() < least || worse.measured < least) return std::nullopt;
  return worse;
}

}  // namespace

void find_algorithms(FindingList& list) {
  const FindingContext& context = list.context();
  if (context.machine == nullptr || context.job.algorithms.empty()) return;
  const auto network = make_network(*context.machine);
  if (!network) return;
  std::vector<Worse> found;
  Ns exposed{};   // of all-reduces
  double lost{};  // ns of it
  for (const CollectiveRow& row : context.job.collectives.rows) {
    if (row.kind == CollectiveKind::all_reduce) exposed += row.exposed;
    auto worse = worse_than_best(row, context, *network);
    if (!worse) continue;
    lost += worse->saves() * static_cast<double>(row.exposed.count());
    found.push_back(std::move(*worse));
  }
  const WhatIf* free = list.what_if("communication_free:all_reduce");
  if (found.empty() || exposed <= Ns{0} || free == nullptr) return;
  std::ranges::stable_sort(found, std::ranges::greater{},
                           [](const Worse& w) { return w.row->exposed; });
  const auto time = [](double s) { return Ns{std::llround(s * 1e9)}; };
  Finding f;
  f.id = "algorithm_not_best";
  f.what = msg::found_algorithm(context.machine->name);
  for (const Worse& w : found) {
    if (f.evidence.size() == 3) break;
    f.evidence.push_back(msg::ran_on_algorithm(
        w.row->count, w.row->bytes, printable(w.row->group),
        named_algorithm_names[static_cast<std::size_t>(w.ran)], time(w.measured),
        time(w.ran_time.time.count()), algorithm_names[static_cast<std::size_t>(w.best.algorithm)],
        time(w.best.time.count())));
  }
  f.advice = msg::look_for_forced_algorithm();
  f.place = list.place_on_path("all_reduce");
  // The replayed step is a maximum of sums, so convex in what all transfers take: a part of their
  // time gives back at least that part of what free ones do. Of some transfers by exposed time.
  const double part = lost / static_cast<double>(exposed.count());
  list.add_bounded(
      std::move(f),
      Ns{std::llround(part * static_cast<double>(std::max(Ns{0}, most_saved(*free)).count()))},
      msg::part_of_free(Percent{part}, "communication_free:all_reduce"));
}

}  // namespace stepscope
