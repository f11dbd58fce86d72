// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/step_rates.h"

#include <algorithm>

#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/diagnose/judged_transfers.h"
#include "stepscope/fit/collective_link.h"

namespace stepscope {
namespace {

void add_work(const Analysis& analysis, StepRates& rates) {
  double flops = 0;
  double seconds = 0;
  for (const RankResult& r : analysis.job.ranks) {
    for (const ExecutedStep& step : r.work.executed.steps) {
      flops += step.flops().value;
      rates.achieved_is_least |= step.unknown_time() > Ns{0};
    }
    for (const Step& step : r.steps) seconds += Seconds(step.end - step.start).count();
  }
  if (analysis.mfu) rates.peak = analysis.mfu->peak;
  if (analysis.mfu && analysis.mfu->hfu.value_or(0) > 0)
    rates.achieved = FlopRate{*analysis.mfu->hfu * analysis.mfu->peak.value};
  else if (flops > 0 && seconds > 0)
    rates.achieved = FlopRate{flops / seconds};
}

void add_overlap(const Analysis& analysis, StepRates& rates) {
  double hidden = 0;
  double possible = 0;
  for (const RankResult& r : analysis.job.ranks) {
    if (!r.work.overlap) continue;
    hidden += Seconds(r.work.overlap->overlap).count();
    possible += Seconds(std::min(r.work.overlap->compute, r.work.overlap->comm)).count();
  }
  if (possible > 0) rates.overlap_efficiency = hidden / possible;
}

// By the yardstick of slow links: what a transfer of the row's size should take there over what it
// took.
std::optional<double> share_of_links(const Analysis& analysis, const CollectiveRow& row) {
  const auto of_row = [&](const std::vector<ExpectedCollective>& list) -> std::optional<double> {
    for (const ExpectedCollective& e : list)
      if (e.row == &row && !e.with_wait && e.measured > 0) return e.expected / e.measured;
    return std::nullopt;
  };
  const Collectives& job = analysis.job.collectives;
  if (const auto judged = of_row(judged_transfers(job, *analysis.machine, analysis.world_size)))
    return judged;
  const auto network = make_network(*analysis.machine);
  return network ? of_row(expected_collectives(job, *network, analysis.world_size)) : std::nullopt;
}

void add_link(const Analysis& analysis, StepRates& rates) {
  for (const CollectiveRow& row : analysis.job.collectives.rows) {
    if (!row.busbw || !row.transfer) continue;
    if (rates.collective == nullptr || *row.transfer > *rates.collective->transfer)
      rates.collective = &row;
  }
  if (rates.collective == nullptr || !analysis.machine) return;
  const auto share = share_of_links(analysis, *rates.collective);
  if (share && *share <= most_link_share) rates.link_share = share;
}

void add_exposed(const Analysis& analysis, StepRates& rates) {
  double all = 0;
  std::vector<double> exposed(dimension_count);
  for (const RankResult& r : analysis.job.ranks) {
    if (r.counted.classes.empty()) continue;
    for (const Step& step : r.counted.steps) all += Seconds(step.end - step.start).count();
    for (const ClassTime& times : r.counted.classes)
      for (std::size_t d = 0; d < dimension_count; ++d)
        exposed[d] += Seconds(times.transfer[d] + times.unsplit[d] + times.wait[d]).count();
  }
  if (all <= 0) return;
  for (double& share : exposed) share /= all;
  rates.exposed = std::move(exposed);
}

}  // namespace

StepRates step_rates(const Analysis& analysis) {
  StepRates rates;
  add_work(analysis, rates);
  add_overlap(analysis, rates);
  add_link(analysis, rates);
  add_exposed(analysis, rates);
  return rates;
}

}  // namespace stepscope
