// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/report/format.h"

namespace stepscope {
namespace {

using Groups = std::array<double, bound_by_names.size()>;

double& of(Groups& groups, BoundBy b) { return groups[static_cast<std::size_t>(b)]; }

// Whether most of the compute time is products (matmul, attention) or everything else. Products
// where nothing is known.
bool memory_bound(const JobResult& job) {
  Ns products{};
  Ns others{};
  for (const RankResult& r : job.ranks)
    for (const ExecutedStep& s : r.executed.steps) {
      products += s.product_union;
      others += s.other_union;
    }
  return others > products;
}

const Straggler* worst_straggler(const JobResult& job) {
  const auto at = std::ranges::find_if(job.stragglers, &Straggler::significant);
  return at == job.stragglers.end() ? nullptr : &*at;
}

Groups group_times(const JobResult& job) {
  Groups groups{};
  const auto mean = [&](BudgetCategory c) { return job.spread[static_cast<std::size_t>(c)].mean; };
  of(groups, memory_bound(job) ? BoundBy::memory : BoundBy::compute) =
      mean(BudgetCategory::compute) + mean(BudgetCategory::comm_overlapped);
  of(groups, BoundBy::communication) = mean(BudgetCategory::comm_exposed_transfer) +
                                       mean(BudgetCategory::comm_exposed_unsplit) +
                                       mean(BudgetCategory::idle_dependency);
  of(groups, worst_straggler(job) ? BoundBy::straggler : BoundBy::communication) +=
      mean(BudgetCategory::comm_exposed_wait);
  of(groups, BoundBy::host) = mean(BudgetCategory::idle_host) + mean(BudgetCategory::idle_launch);
  of(groups, BoundBy::data) = mean(BudgetCategory::idle_data);
  of(groups, BoundBy::sync) = mean(BudgetCategory::idle_sync);
  of(groups, BoundBy::copy) = mean(BudgetCategory::copy_exposed);
  of(groups, BoundBy::unexplained) = mean(BudgetCategory::idle_unexplained);
  return groups;
}

std::string_view in_words(BoundBy b) {
  static constexpr std::array<std::string_view, bound_by_names.size()> words = {
      "compute",       "memory traffic",
      "communication", "the host",
      "data loading",  "synchronisation",
      "copies",        "the pipeline's bubble",
      "a straggler",   "idle time that the trace does not explain"};
  return words[static_cast<std::size_t>(b)];
}

double mean_step(const JobResult& job) {
  double sum = 0;
  for (const CategorySpread& s : job.spread) sum += s.mean;
  return sum;
}

std::string ranks_in_words(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.size() > 6) return fmt::format("{} ranks", ranks.size());
  return fmt::format("ranks {}", fmt::join(ranks, ", "));
}

// "rank 2 arrives 1.00 s a step late …; ranks 0, 1, 3 lose 1.01 s of each step waiting".
std::string straggler_text(const JobResult& job, const Straggler& s) {
  const auto wait = static_cast<std::size_t>(BudgetCategory::comm_exposed_wait);
  std::vector<int> losers;
  double lost = 0;
  for (const RankResult& r : job.ranks) {
    if (r.rank == s.rank || r.steps.empty()) continue;
    const double waiting = static_cast<double>(r.budget.total.time[wait].count()) /
                           static_cast<double>(r.steps.size());
    if (waiting < static_cast<double>(s.upper_bound.count()) / 4) continue;
    losers.push_back(r.rank);
    lost += waiting;
  }
  std::string text =
      fmt::format("rank {} arrives {} a step late", s.rank, format_time(s.upper_bound));
  if (!s.cause.empty()) text += fmt::format(" ({})", s.cause);
  if (!losers.empty())
    text += fmt::format("; {} {} {} of each step waiting for it", ranks_in_words(losers),
                        losers.size() == 1 ? "loses" : "lose",
                        format_time(lost / static_cast<double>(losers.size())));
  return text;
}

// The largest idle gap of the cause that binds, on the rank that has most of it.
std::optional<std::string> gap_text(const JobResult& job, BoundBy bound) {
  const auto belongs = [&](BudgetCategory c) {
    switch (bound) {
      case BoundBy::host:
        return c == BudgetCategory::idle_host || c == BudgetCategory::idle_launch;
      case BoundBy::data:
        return c == BudgetCategory::idle_data;
      case BoundBy::sync:
        return c == BudgetCategory::idle_sync;
      case BoundBy::unexplained:
        return c == BudgetCategory::idle_unexplained;
      default:
        return false;
    }
  };
  const IdleCause* worst = nullptr;
  int rank = 0;
  for (const RankResult& r : job.ranks)
    for (const IdleCause& cause : r.idle)
      if (belongs(cause.cause) && (worst == nullptr || cause.total > worst->total)) {
        worst = &cause;
        rank = r.rank;
      }
  if (worst == nullptr || worst->largest.empty()) return std::nullopt;
  const IdleInstance& i = worst->largest.front();
  std::string text = fmt::format("the longest gap takes {} on rank {}", format_time(i.wall), rank);
  if (!i.host_activity.empty())
    text += fmt::format(" while the host is in {}", shorten(printable(i.host_activity), 80));
  return text;
}

std::optional<std::string> collective_text(const JobResult& job) {
  if (job.collectives.rows.empty()) return std::nullopt;
  const CollectiveRow& row = job.collectives.rows.front();
  return fmt::format("{} of group {} is exposed for {} in all",
                     collective_kind_names[static_cast<std::size_t>(row.kind)], row.group,
                     format_time(row.exposed));
}

std::optional<std::string> kernel_text(const JobResult& job) {
  const RankResult& r = job.ranks.front();
  if (r.kernels.kernels.empty()) return std::nullopt;
  const KernelRow& k = r.kernels.kernels.front();
  return fmt::format("the costliest kernel, {}, takes {} of rank {}'s device time",
                     shorten(printable((*r.strings)[k.name]), 60), format_percent(k.share), r.rank);
}

std::optional<std::string> find_culprit(const JobResult& job, BoundBy bound) {
  if (bound == BoundBy::straggler) return straggler_text(job, *worst_straggler(job));
  if (bound == BoundBy::communication) return collective_text(job);
  if (bound == BoundBy::compute || bound == BoundBy::memory) return kernel_text(job);
  return gap_text(job, bound);
}

std::string mfu_text(const MfuBudget& mfu) {
  if (mfu.mfu)
    return fmt::format(" {} of the peak becomes model FLOPs (MFU, {}).", format_percent(*mfu.mfu),
                       mfu.convention.empty() ? "as given" : mfu.convention);
  if (mfu.hfu && *mfu.hfu > 0)
    return fmt::format(" Matrix products and attention reach {} of the peak (HFU).",
                       format_percent(*mfu.hfu));
  return {};
}

}  // namespace

Answer find_answer(const JobResult& job, const std::optional<MfuBudget>& mfu) {
  Answer answer;
  const double step = mean_step(job);
  if (job.ranks.empty() || step <= 0) {
    answer.sentence = job.ranks.empty()
                          ? "No rank could be read."
                          : "No step could be accounted for: the ranks have no step in common.";
    return answer;
  }
  const Groups groups = group_times(job);
  const auto most = std::ranges::max_element(groups);
  answer.bound_by = static_cast<BoundBy>(most - groups.begin());
  const bool window = job.steps.size() == 1 && job.ranks.front().steps.front().name == "window";
  answer.sentence = fmt::format("{} takes {} and is bound by {} ({} of it).",
                                window ? "The recorded window" : "A step", format_time(step),
                                in_words(answer.bound_by), format_percent(*most / step));
  if (mfu) answer.sentence += mfu_text(*mfu);
  answer.culprit = find_culprit(job, answer.bound_by);
  // A late rank is named even where something else takes more of the mean step.
  if (const Straggler* s = worst_straggler(job);
      s != nullptr && answer.bound_by != BoundBy::straggler)
    answer.culprit = straggler_text(job, *s) + (answer.culprit ? "; " + *answer.culprit : "");
  return answer;
}

}  // namespace stepscope
