// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/verdict.h"

#include <algorithm>
#include <cmath>

#include "stepscope/diagnose/device_words.h"
#include "stepscope/diagnose/judged_transfers.h"
#include "stepscope/diagnose/labels.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/straggler_words.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/vocabulary.h"

namespace stepscope {
namespace {

constexpr double same_step = 0.01;      // two lengths of a step differ by less
constexpr double least_beside = 0.001;  // of a step: a row of the account

using Groups = std::array<double, bound_by_names.size()>;

double& of(Groups& groups, BoundBy b) { return groups[static_cast<std::size_t>(b)]; }

// The compute of the recorded steps, over ranks. Kernels of unknown class may be products.
struct ComputeTime {
  Ns products{};  // matmul, attention
  Ns others{};
};

ComputeTime compute_time(const JobResult& job) {
  ComputeTime sum;
  for (const RankResult& r : job.ranks)
    for (const ExecutedStep& s : r.work.executed.steps) {
      sum.products += s.product_union + s.unclassed_union;
      sum.others += s.other_union;
    }
  return sum;
}

// Whether most of it is known to be no product.
bool memory_bound(const JobResult& job) {
  const ComputeTime compute = compute_time(job);
  return compute.others > compute.products;
}

const Straggler* worst_straggler(const JobResult& job) {
  if (replay_tells(job)) return nullptr;
  const auto at = std::ranges::find_if(job.stragglers, delays_others);
  return at == job.stragglers.end() ? nullptr : &*at;
}

// Receiving between pipeline stages, of the mean step; zero where it has no category of its own.
double bubble_of(const std::optional<MfuBudget>& mfu) {
  if (!mfu) return 0;
  const auto at = std::ranges::find(mfu->terms, MfuTerm::pipeline_bubble, &MfuShare::term);
  return at == mfu->terms.end() ? 0 : static_cast<double>(at->time.count());
}

// The mean step by category, of the ranks that are (not) late.
CategoryMeans means_of_punctual(const JobResult& job) {
  CategoryMeans means{};
  double ranks = 0;
  for (const RankResult& r : job.ranks) {
    const auto late = std::ranges::find(job.stragglers, r.rank, &Straggler::rank);
    if (r.steps.empty() || (late != job.stragglers.end() && late->significant)) continue;
    ++ranks;
    const CategoryMeans own = mean_step_of(r);
    for (std::size_t c = 0; c < budget_category_count; ++c) means[c] += own[c];
  }
  for (double& m : means) m = ranks > 0 ? m / ranks : 0;
  return means;
}

CategoryMeans means_of_all(const JobResult& job) {
  CategoryMeans means{};
  for (std::size_t c = 0; c < budget_category_count; ++c) means[c] = job.steps.spread[c].mean;
  return means;
}

Groups group_times(const JobResult& job, const CategoryMeans& means,
                   const std::optional<MfuBudget>& mfu) {
  using enum BudgetCategory;
  Groups groups{};
  const auto mean = [&](BudgetCategory c) { return means[static_cast<std::size_t>(c)]; };
  of(groups, memory_bound(job) ? BoundBy::memory : BoundBy::compute) =
      mean(compute) + mean(comm_overlapped);
  of(groups, BoundBy::communication) =
      mean(comm_exposed_transfer) + mean(comm_exposed_unsplit) + mean(idle_dependency);
  const double bubble = std::min(bubble_of(mfu), mean(comm_exposed_wait));
  of(groups, BoundBy::bubble) = bubble;
  of(groups, worst_straggler(job) ? BoundBy::straggler : BoundBy::communication) +=
      mean(comm_exposed_wait) - bubble;
  const double host = mean(idle_host) + mean(idle_launch);
  const double waiting = std::min(held_in(job), mean(idle_launch));
  const double held = 2 * waiting > host ? waiting : 0;
  of(groups, BoundBy::host) = host - held;
  of(groups, BoundBy::data) = mean(idle_data);
  of(groups, BoundBy::sync) = mean(idle_sync);
  of(groups, BoundBy::copy) = mean(copy_exposed);
  of(groups, BoundBy::unexplained) = mean(idle_unexplained) + mean(not_recorded) + held;
  return groups;
}

// The bound that takes most of the mean step. It is a straggler if waiting takes most of the step
// of the ranks that are not late: the late rank's work and their waiting are the same time.
BoundBy binding_group(const JobResult& job, const Groups& all,
                      const std::optional<MfuBudget>& mfu) {
  if (worst_straggler(job) != nullptr) {
    const Groups punctual = group_times(job, means_of_punctual(job), mfu);
    const auto most = static_cast<BoundBy>(std::ranges::max_element(punctual) - punctual.begin());
    if (most == BoundBy::straggler) return most;
  }
  return static_cast<BoundBy>(std::ranges::max_element(all) - all.begin());
}

std::string_view in_words(BoundBy b, bool cpu) {
  return label_of("bound_by", bound_by_names[static_cast<std::size_t>(b)], cpu);
}

// What takes most more of a step on a rank than on those that are not late, waiting apart.
struct Excess {
  BudgetCategory category = BudgetCategory::compute;
  double time = 0;
};

Excess excess_of(const JobResult& job, int rank) {
  Excess excess;
  const RankResult* late = find_rank(job.ranks, rank);
  if (late == nullptr || late->steps.empty()) return excess;
  CategoryMeans more = means_of_punctual(job);
  const CategoryMeans own = mean_step_of(*late);
  for (std::size_t c = 0; c < budget_category_count; ++c) more[c] = own[c] - more[c];
  const auto of_category = [&](BudgetCategory c) -> double& {
    return more[static_cast<std::size_t>(c)];
  };
  // Compute is compute, whether communication runs at the same time or not.
  of_category(BudgetCategory::compute) += of_category(BudgetCategory::comm_overlapped);
  of_category(BudgetCategory::comm_overlapped) = 0;
  of_category(BudgetCategory::comm_exposed_wait) = 0;
  const auto most = std::ranges::max_element(more);
  if (*most > 0) excess = {static_cast<BudgetCategory>(most - more.begin()), *most};
  return excess;
}

// "rank 2 arrives 1.00 s a step late …; ranks 0, 1, 3 lose 1.01 s of each step waiting".
Message straggler_text(const JobResult& job, const Straggler& s) {
  const auto wait = static_cast<std::size_t>(BudgetCategory::comm_exposed_wait);
  std::vector<int> losers;
  double lost = 0;
  for (const RankResult& r : job.ranks) {
    if (r.rank == s.rank || r.steps.empty()) continue;
    const double waiting = mean_step_of(r)[wait];
    if (waiting < threshold::share_of_lateness * static_cast<double>(s.upper_bound.count()))
      continue;
    losers.push_back(r.rank);
    lost += waiting;
  }
  const bool a_step = !is_window(job);
  const Excess more = excess_of(job, s.rank);
  const bool much =
      more.time >= threshold::share_of_lateness * static_cast<double>(s.upper_bound.count());
  // Who waits for it is said below, by the time budget. What the host did explains no launch
  // latency.
  const bool host = s.cause && more.category != BudgetCategory::idle_launch &&
                    more.category != BudgetCategory::idle_data;
  const double mean = lost / static_cast<double>(std::max<std::size_t>(losers.size(), 1));
  return msg::late_rank(
      s.rank, s.upper_bound, a_step,
      much ? msg::more_than_peers(words_of(more.category, on_cpu(job.ranks)),
                                  Nanoseconds(more.time), a_step)
           : Message(),
      host ? cause_in_words(*s.cause) : Message(),
      losers.empty() ? Message() : msg::lose_waiting(losers, Nanoseconds(mean), !a_step));
}

// The longest idle gap of the cause that binds, on any rank.
Message gap_text(const JobResult& job, BoundBy bound) {
  const auto belongs = [&](BudgetCategory c) {
    switch (bound) {
      case BoundBy::host:
        return c == BudgetCategory::idle_host || c == BudgetCategory::idle_launch;
      case BoundBy::data:
        return c == BudgetCategory::idle_data;
      case BoundBy::sync:
        return c == BudgetCategory::idle_sync;
      case BoundBy::unexplained:
        return c == BudgetCategory::idle_unexplained || c == BudgetCategory::not_recorded;
      default:
        return false;
    }
  };
  const IdleInstance* worst = nullptr;
  int rank = 0;
  for (const RankResult& r : job.ranks)
    for (const IdleCause& cause : r.device.idle)
      for (const IdleInstance& i : cause.largest) {
        if (!belongs(cause.cause) || !counts_in_length(job, i.step)) continue;
        if (worst != nullptr && i.wall <= worst->wall) continue;
        worst = &i;
        rank = r.rank;
      }
  if (worst == nullptr) return {};
  return msg::longest_gap(worst->wall, value_if(job.ranks.size() > 1, rank),
                          host_doing(worst->host_activity));
}

// How many launches found nothing left to run, on the rank where that costs most.
Message queue_text(const JobResult& job) {
  const RankResult& most = rank_with_most(job.ranks, [](auto& r) { return r.host.starved; });
  if (!most.host.launch_bound) return {};
  return msg::launches_find_idle(most.host.empty_queue_launches, most.host.launches,
                                 value_if(job.ranks.size() > 1, most.rank));
}

// As in the table of the costliest kernels: the mean of the devices.
double share_of_step(Ns total, const RankResult& r) {
  const auto devices =
      r.device.is_cpu() ? 1 : std::max<std::int64_t>(1, std::ssize(r.device.windows));
  return share_of_time(total / devices, accounted_budget(r).sum());
}

// As an integer where it is one.
Value calls_a_step(std::uint64_t calls, std::size_t steps) {
  const double mean =
      static_cast<double>(calls) / static_cast<double>(std::max<std::size_t>(1, steps));
  return mean == std::floor(mean) ? Value(static_cast<std::uint64_t>(mean)) : Value(Digits{mean});
}

Message copy_text(const JobResult& job) {
  const RankResult& r = job.ranks.front();
  const auto at = std::ranges::find(r.work.kernels.kernels, NameClass::copy, &KernelRow::kind);
  if (at == r.work.kernels.kernels.end() || at->count == 0) return {};
  const std::string name = printable((*r.strings)[at->name]);
  return msg::copies_take(shorten(name, 60), Percent{share_of_step(at->total, r)},
                          calls_a_step(at->count, accounted_count(r)),
                          name.find("Pageable") != std::string::npos,
                          name.find("-> Pageable") != std::string::npos);
}

// A row counts the calls of all its groups; a rank has those of one.
Message collective_text(const JobResult& job) {
  if (job.collectives.rows.empty() || job.steps.common.empty()) return {};
  const CollectiveRow& row = job.collectives.rows.front();
  if (row.exposed.count() <= 0) return {};
  const std::size_t groups = std::max<std::size_t>(row.groups.size(), 1);
  return msg::most_exposed(
      collective_kind_names[static_cast<std::size_t>(row.kind)], row.bytes,
      value_if(row.group != "unknown", printable(row.group)), row.groups.size() > 1,
      calls_a_step(row.count, groups * job.steps.common.size()), !is_window(job));
}

bool is_product(NameClass kind) {
  return kind == NameClass::matmul || kind == NameClass::attention;
}

// The costliest kernel of the sort that binds: products, or what streams through memory.
Message kernel_text(const JobResult& job, BoundBy bound, const Machine* machine) {
  const RankResult& r = job.ranks.front();
  const bool products = bound == BoundBy::compute && r.work.executed.any_shapes;
  const auto binds = [&](const KernelRow& k) {
    if (k.kind == NameClass::communication || k.kind == NameClass::wait) return false;
    if (bound == BoundBy::memory) return k.kind != NameClass::other && !is_product(k.kind);
    return !products || is_product(k.kind);
  };
  const auto at = std::ranges::find_if(r.work.kernels.kernels, binds);
  if (at == r.work.kernels.kernels.end() || at->count == 0) return {};
  const bool memory = bound == BoundBy::memory;
  const bool reaches =
      memory && at->kind != NameClass::copy && at->bandwidth && machine && machine->memory_rate;
  // The table of all kernels begins with communication or a wait, if that takes most.
  const bool first = at == r.work.kernels.kernels.begin();
  const Message of = memory     ? msg::costliest_of_them()
                     : first    ? msg::costliest_of_kernels()
                     : products ? msg::costliest_of_products()
                                : msg::costliest_of_compute();
  return msg::costliest_kernel(
      of, shorten(short_kernel_name(printable((*r.strings)[at->name])), 60),
      name_class_names[static_cast<std::size_t>(at->kind)], Percent{share_of_step(at->total, r)},
      value_if(job.ranks.size() > 1, r.rank),
      reaches ? Value(Percent{at->bandwidth->value / machine->memory_rate->value}) : Value(),
      bound == BoundBy::compute && at->rate ? Value(Digits{at->rate->value / 1e12}) : Value());
}

// On a CPU run operators are what runs; the costliest shapes are in the table.
Message operator_text(const JobResult& job) {
  const RankResult& r = job.ranks.front();
  const auto at = std::ranges::find_if(
      r.work.operators, [&](const OperatorRow& o) { return o.kind != NameClass::communication; });
  if (at == r.work.operators.end() || at->device.count() <= 0) return {};
  Ns time{};
  for (const OperatorRow& o : r.work.operators)
    if (o.name == at->name) time += o.device;
  if (accounted_budget(r).sum() <= Ns{0}) return {};
  return msg::costliest_operator(shorten(printable((*r.strings)[at->name]), 60),
                                 Percent{share_of_step(time, r)},
                                 value_if(job.ranks.size() > 1, r.rank));
}

// Whether the FLOPs of some products are unknown, so that the others' are a lower bound.
bool of_some_flops(const MfuBudget& mfu) {
  return std::ranges::find(mfu.warnings, MessageKind::mfu_of_unknown_flops, &Message::kind) !=
         mfu.warnings.end();
}

// Products run at this share of the peak while they run.
Message product_text(const std::optional<MfuBudget>& mfu) {
  if (!mfu || mfu->hfu.value_or(0) <= 0) return {};
  for (const MfuShare& t : mfu->terms)
    if (t.term == MfuTerm::kernel_inefficiency && t.percent > 0)
      return msg::products_run_at(Percent{*mfu->hfu / (*mfu->hfu + t.percent / 100)},
                                  of_some_flops(*mfu));
  return {};
}

Message find_culprit(const JobResult& job, BoundBy bound, const std::optional<MfuBudget>& mfu,
                     const Machine* machine) {
  const auto both = [](Message first, Message second) {
    return joined(msg::clauses, {std::move(first), std::move(second)});
  };
  switch (bound) {
    case BoundBy::straggler:
      return both(straggler_text(job, *worst_straggler(job)), shared_device_text(job));
    case BoundBy::communication:
    case BoundBy::bubble:
      return collective_text(job);
    case BoundBy::compute:
    case BoundBy::memory:
      return both(bound == BoundBy::compute ? product_text(mfu) : Message(),
                  on_cpu(job.ranks) ? operator_text(job) : kernel_text(job, bound, machine));
    case BoundBy::host:
      if (on_cpu(job.ranks)) return both(operator_text(job), gap_text(job, bound));
      return joined(msg::clauses, {shared_device_text(job), queue_text(job), gap_text(job, bound)});
    case BoundBy::copy:
      return copy_text(job);
    default:
      return both(gap_text(job, bound), unseen_host_text(job));
  }
}

Message mfu_text(const std::optional<MfuBudget>& mfu) {
  if (!mfu) return {};
  if (mfu->mfu)
    return msg::mfu_of_peak(Percent{*mfu->mfu},
                            value_if(mfu->convention != flops_as_given, mfu->convention));
  // Without model FLOPs the products' share is all that can be said, and only where it says much.
  // More than the peak is no share of it: a note says that the peak or its format is wrong.
  if (mfu->hfu && *mfu->hfu >= threshold::least_hfu && *mfu->hfu <= 1)
    return msg::hfu_of_peak(Percent{*mfu->hfu}, of_some_flops(*mfu));
  return {};
}

// Why waiting is not distinguished from transfer, where most of the binding time is neither.
Message unsplit_text(const JobResult& job, double group) {
  const auto unsplit =
      job.steps.spread[static_cast<std::size_t>(BudgetCategory::comm_exposed_unsplit)].mean;
  if (unsplit < group / 2) return {};
  const CollectiveMatches& matches = job.collectives.matches;
  const bool some =
      matches.world_size && static_cast<std::size_t>(*matches.world_size) > job.ranks.size();
  return msg::cannot_split(some ? Value(*matches.world_size) : Value(), job.ranks.size(),
                           job.ranks.size() > 1 && !matches.clocks_comparable);
}

// The share of other work than products in the mean step, for a job whose compute is mostly such
// work.
double memory_share(const JobResult& job, double group) {
  const auto [products, others] = compute_time(job);
  return group * static_cast<double>(others.count()) /
         static_cast<double>((products + others).count());
}

// `step` is the mean recorded step, which the budget divides.
Message bound_text(const JobResult& job, BoundBy bound, double group, double step) {
  const bool cpu = on_cpu(job.ranks);
  const auto told = static_cast<double>(step_length(job).count());
  const bool alike = !replay_tells(job) || std::abs(step - told) <= same_step * told;
  // The account has it as a row of its own.
  const double beside =
      means_of_all(job)[static_cast<std::size_t>(BudgetCategory::comm_overlapped)] / step;
  const Message overlapped =
      beside < least_beside ? Message() : msg::beside_communication(Percent{beside});
  if (bound == BoundBy::memory)
    return msg::bound_by_memory(Percent{group / step}, alike, cpu,
                                Percent{memory_share(job, group) / step}, overlapped);
  return msg::bound_by_category(in_words(bound, cpu), Percent{group / step}, alike,
                                bound == BoundBy::communication ? unsplit_text(job, group)
                                : bound == BoundBy::compute     ? overlapped
                                                                : Message());
}

BoundBy bound_of(CulpritKind kind) {
  if (kind == CulpritKind::exposed_communication) return BoundBy::communication;
  if (kind == CulpritKind::exposed_copies) return BoundBy::copy;
  return kind == CulpritKind::bubble ? BoundBy::bubble : BoundBy::host;
}

Message bound_sentence(const Culprit& c, const JobResult& job) {
  const Percent share{c.share};
  switch (c.kind) {
    case CulpritKind::exposed_communication: {
      const auto free = std::ranges::find_if(job.explanation->what_ifs, [](const WhatIf& w) {
        return w.scenario.change == Change::communication_free && !w.scenario.kind;
      });
      const bool range = free != job.explanation->what_ifs.end() && free->shortest_step;
      return msg::communication_binds(
          c.gain, share, unsplit_text(job, static_cast<double>(c.gain.count())), range);
    }
    case CulpritKind::exposed_copies:
      return (only_fills(job) ? msg::fills_bind : msg::copies_bind)(c.gain, share);
    case CulpritKind::bubble:
      return msg::bubble_binds(c.gain, share);
    default:
      return (on_cpu(job.ranks) ? msg::operators_bind : msg::launches_bind)(c.gain, share);
  }
}

// Whether calls of the allocator are most of what the host costs. Start-up allocates, too.
const WhatIf* allocations_of(const Culprit& bound, const JobResult& job) {
  const auto starts = [&](auto& rank) { return 2 * rank.recording.start_up.idle >= bound.gain; };
  if (bound.kind != CulpritKind::launch_bound || std::ranges::any_of(job.ranks, starts)) return {};
  const auto free = std::ranges::find_if(job.explanation->what_ifs, [](const WhatIf& w) {
    return w.scenario.change == Change::allocator_free && !w.scenario.rank;
  });
  const bool most = free != job.explanation->what_ifs.end() && 2 * free->saved >= bound.gain;
  return most ? &*free : nullptr;
}

// What free communication saves at most; 0 where the replay does not show it.
Ns most_of_free_communication(const JobResult& job) {
  for (const WhatIf& w : job.explanation->what_ifs)
    if (w.scenario.change == Change::communication_free && !w.scenario.kind) return most_saved(w);
  return Ns{0};
}

// The slow links of the job that cost enough to be named.
std::vector<SlowLinks> costly_links(const JobResult& job, const Machine* machine,
                                    std::optional<int> world_size) {
  if (machine == nullptr || !replay_tells(job) || only_communication(job)) return {};
  std::vector<SlowLinks> links = slow_links(job, *machine, world_size);
  const Ns most = most_of_free_communication(job);
  for (SlowLinks& slow : links) slow.lost = std::min(slow.lost, most);
  std::erase_if(links, [&](const SlowLinks& slow) {
    return share_of_time(slow.lost, step_length(job)) < threshold::least_gain;
  });
  return links;
}

}  // namespace

bool only_communication(const JobResult& job) {
  const auto is_communication = [](const KernelClassRow& row) {
    return row.kind == NameClass::communication;
  };
  return !job.ranks.empty() && std::ranges::all_of(job.ranks, [&](const RankResult& r) {
    return !r.recording.has_launch_rows() && !r.work.kernels.classes.empty() &&
           std::ranges::all_of(r.work.kernels.classes, is_communication);
  });
}

Message to_replay(const Culprit& culprit, std::string traces) {
  return msg::replay_without(culprit.change, std::move(traces),
                             culprit.kind == CulpritKind::allocation_retries);
}

JobVerdict find_verdict(const JobResult& job, const std::optional<MfuBudget>& mfu,
                        const Machine* machine, std::optional<int> world_size) {
  JobVerdict verdict;
  const double step = mean_step(job);
  if (job.ranks.empty() || step <= 0) {
    verdict.sentence = job.ranks.empty()       ? msg::no_rank_read()
                       : job.ranks.size() == 1 ? no_step_text(job.ranks.front())
                                               : msg::no_common_step();
    return verdict;
  }
  const Straggler* const straggler = worst_straggler(job);
  const Message late = straggler == nullptr ? Message() : straggler_text(job, *straggler);
  if (Message start_up = start_up_text(job); !start_up.empty()) {
    verdict.sentence = std::move(start_up);
    verdict.culprit = msg::record_after_start();
    return verdict;
  }
  if (only_communication(job)) {
    verdict.sentence = msg::only_communication(Nanoseconds(step));
    verdict.culprit = late;
    return verdict;
  }
  const auto none = no_answer(job);
  const std::vector<SlowLinks> links = costly_links(job, machine, world_size);
  verdict.culprits = find_culprits(job);
  const bool window = is_window(job);
  const Ns length = replay_tells(job) ? step_length(job) : Ns{std::llround(step)};
  Groups groups = group_times(job, means_of_all(job), mfu);
  verdict.bound_by = binding_group(job, groups, mfu);
  constexpr auto lost = static_cast<std::size_t>(BudgetCategory::not_recorded);
  const double bound = of(groups, verdict.bound_by);
  const bool unexplained = verdict.bound_by == BoundBy::unexplained;
  const bool known =
      !host_rows_only(job) && (!unexplained || 2 * job.steps.spread[lost].mean < bound);
  Messages said = {
      known ? msg::bound_by(window, length, bound_text(job, verdict.bound_by, bound, step))
            : msg::step_takes(window, length),
      mfu_text(mfu)};
  const Message managed = managed_text(job);
  const Message late_starts = managed.empty() ? late_start_text(job) : Message();
  if (none) {
    if (!managed.empty()) said.push_back(managed);
    said.push_back(msg::saving_unknown(none->reason));
    verdict.sentence = joined(msg::sentences, std::move(said));
    if (!managed.empty()) {
      verdict.culprit = msg::prefetch_managed();
      return verdict;
    }
    verdict.culprit = late.empty() || none->remedy.empty()
                          ? (late.empty() ? none->remedy : late)
                          : msg::late_and_remedy(late, none->remedy);
    if (device_unseen(job))
      verdict.culprit = joined(msg::clauses, {operator_text(job), std::move(verdict.culprit)});
    return verdict;
  }
  if (verdict.culprits.empty() || !replay_tells(job)) {
    verdict.sentence = joined(msg::sentences, std::move(said));
  } else if (Culprit& first = verdict.culprits.front(); is_fault(first.kind)) {
    verdict.sentence =
        joined(msg::sentences,
               {first.sentence, first.clock ? first.clock->sentence : Message(), mfu_text(mfu)});
    verdict.culprit = to_replay(first, "TRACES");
    return verdict;
  } else {
    if (first.kind == CulpritKind::compute_bound) {
      if (verdict.bound_by == BoundBy::memory) first.kind = CulpritKind::memory_bound;
      if (const auto next = next_after_compute(job)) said.push_back(bound_sentence(*next, job));
    } else {
      if (!unexplained) said.front() = msg::step_takes(window, length);  // else that is the most
      said.back() = bound_sentence(first, job);
      verdict.bound_by = bound_of(first.kind);
      if (const WhatIf* free = allocations_of(first, job)) {
        first.cause = "allocator_in_step";
        first.gain = free->saved;
        first.share = share_of_time(free->saved, length);
        first.change = name_of(free->scenario);
        said.back() = msg::allocations_bind(first.gain, Percent{first.share});
      }
      // Transfers that take a multiple of what the links allow are the cause of what is exposed.
      if (first.kind == CulpritKind::exposed_communication && !links.empty() &&
          2 * links.front().lost >= first.gain) {
        first.cause = "slow_link";
        said.push_back(msg::slow_links_cost(slow_links_sentence(links.front(), *machine),
                                            cost_of(links.front().lost, job)));
      }
      said.push_back(mfu_text(mfu));
    }
    said.push_back(managed);
    said.push_back(late_starts);
    if (Message latest = latest_in_words(job.stragglers, job.ranks.size()); !latest.empty())
      said.push_back(std::move(latest));
    else if (job.ranks.size() > 1 && links.empty() && job.explanation->held.empty() &&
             verdict.culprits.size() == 1 &&
             job.explanation->unexplained_share <= unexplained_doubtful)
      said.push_back(msg::none_stands_out());
    first.sentence = verdict.sentence = joined(msg::sentences, std::move(said));
    // Nothing that a replay removes binds the step, and neither does compute: no verdict.
    const bool computes =
        verdict.bound_by == BoundBy::compute || verdict.bound_by == BoundBy::memory;
    if (first.kind == CulpritKind::compute_bound && !computes) verdict.culprits.clear();
  }
  verdict.culprit = find_culprit(job, verdict.bound_by, mfu, machine);
  // A late rank is named even where something else takes more of the mean step.
  if (verdict.bound_by != BoundBy::straggler)
    verdict.culprit = joined(msg::clauses, {late, std::move(verdict.culprit)});
  if (!managed.empty() || (!late_starts.empty() && has_managed_memory(job)))
    verdict.culprit = joined(msg::clauses, {msg::prefetch_managed(), std::move(verdict.culprit)});
  return verdict;
}

}  // namespace stepscope
