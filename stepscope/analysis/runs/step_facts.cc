// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/step_facts.h"

#include <algorithm>
#include <cmath>

#include "stepscope/analysis/steps/counted_steps.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

double computing(const RankFacts& rank) {
  return static_cast<double>(
      (rank.mean[BudgetCategory::compute] + rank.mean[BudgetCategory::comm_overlapped]).count());
}

void keep_fullest(const RankResult& rank, StepFacts& facts) {
  for (const DeviceMemory& d : rank.memory.devices) {
    if (!d.headroom || (facts.headroom && *facts.headroom <= *d.headroom)) continue;
    facts.headroom = d.headroom;
    facts.capacity = *d.headroom + d.peak_reserved.value_or(d.peak_allocated);
  }
}

}  // namespace

std::optional<RankBalance> rank_balance(std::span<const RankFacts> ranks) {
  std::map<std::string, std::vector<const RankFacts*>> roles;
  for (const RankFacts& r : ranks) roles[r.role].push_back(&r);
  std::optional<RankBalance> worst;
  for (const auto& [role, members] : roles) {
    if (members.size() < 2) continue;
    std::vector<double> times;
    for (const RankFacts* r : members) times.push_back(computing(*r));
    const double middle = *median(times);
    if (!(middle > 0)) continue;
    const auto most = std::ranges::max_element(times);
    const double excess = *most / middle - 1;
    if (!worst || excess > worst->excess)
      worst = RankBalance{members[static_cast<std::size_t>(most - times.begin())]->rank, excess};
  }
  return worst;
}

std::optional<double> budget_share(std::span<const RankFacts> ranks,
                                   std::span<const BudgetCategory> categories) {
  double part = 0;
  double whole = 0;
  for (const RankFacts& r : ranks) {
    whole += static_cast<double>(r.mean.sum().count());
    for (const BudgetCategory c : categories) part += static_cast<double>(r.mean[c].count());
  }
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

StepFacts facts_of(const JobResult& job) {
  StepFacts facts;
  for (const RankResult& r : job.ranks) {
    keep_fullest(r, facts);
    if (r.steps.empty()) continue;
    RankFacts rank{.rank = r.rank, .role = r.role, .mean = {}};
    const CategoryMeans mean = mean_step_of(r);
    for (std::size_t c = 0; c < budget_category_count; ++c)
      rank.mean.time[c] = Ns{std::llround(mean[c])};
    facts.ranks.push_back(std::move(rank));
  }
  facts.arrivals_known = job.collectives.matches.clocks_comparable && job.ranks.size() > 1;
  return facts;
}

double lost_share(const RankResult& rank) {
  std::uint64_t launches = 0;
  std::uint64_t lost = 0;
  for (const StepRecording& step : rank.recording.steps) {
    launches += step.launches;
    lost += step.lost_launches;
  }
  return launches > 0 ? static_cast<double>(lost) / static_cast<double>(launches) : 0;
}

namespace {

// Whether the launches of most device rows are known.
bool launches_are_known(const RankRecording& r) {
  return r.has_launch_rows() &&
         static_cast<double>(r.loose_rows) <= most_loose_rows * static_cast<double>(r.device_rows);
}

}  // namespace

Facts recorded_facts(const JobResult& job) {
  Facts facts{};
  const auto set = [&](Fact f, bool value) { facts[static_cast<std::size_t>(f)] = value; };
  const auto any = [&](auto test) { return std::ranges::any_of(job.ranks, test); };
  const auto all = [&](auto test) { return std::ranges::all_of(job.ranks, test); };
  using Rank = RankResult;
  const auto on_cpu = [](const Rank& r) {
    return r.device.is_cpu() && !r.recording.device_unseen();
  };
  set(Fact::rows, !job.ranks.empty());
  set(Fact::steps, any([](const Rank& r) { return !r.steps.empty() && !is_window(r); }));
  set(Fact::device_rows, all([&](const Rank& r) {
        return on_cpu(r) || (!r.recording.device_unseen() && lost_share(r) < most_lost_launches);
      }));
  set(Fact::launches,
      all([&](const Rank& r) { return on_cpu(r) || launches_are_known(r.recording); }));
  set(Fact::operators, any([](const Rank& r) {
        return r.recording.of(Category::cpu_op) + r.recording.of(Category::user_annotation) +
                   r.recording.of(Category::python_function) >
               0;
      }));
  set(Fact::shapes, any([](const Rank& r) { return r.recording.shaped_operators > 0; }));
  set(Fact::stream_waits, any([](const Rank& r) {
        return r.device.kind != "cuda" || r.recording.of(Category::sync) > 0;
      }));
  set(Fact::memory, any([](const Rank& r) { return !r.memory.devices.empty(); }));
  set(Fact::ranks, job.ranks.size() > 1);
  set(Fact::clocks, job.collectives.matches.clocks_comparable || job.ranks.size() == 1);
  return facts;
}

}  // namespace stepscope
