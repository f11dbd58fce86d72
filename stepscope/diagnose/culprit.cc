// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/culprit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "stepscope/diagnose/given_work.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/stage_means.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

constexpr double least_bound = 0.10;  // of the step, to be called what binds it
constexpr double least_next = 0.05;   // to be named after compute that binds it
constexpr double mostly_launches = 0.30;
constexpr double small_fault = 0.05;
constexpr std::int64_t many_times_fault = 6;
constexpr double least_part = 0.01;  // of the critical path, to be listed
// The share of the step up to which other programs on the cores of a job make differences.
// Experiment: in 316 recorded captures, wrong verdicts of faults beyond it are fewer than 1 in 50.
constexpr double sure_on_cores = 0.10;
constexpr double least_uneven = 0.02;  // of the step, as of other faults
constexpr double explains = 0.5;       // part of an excess of time, by an excess of work
constexpr double alike = 1.02;  // two figures of one cause differ by less, so one of them says it

auto needs_of(CulpritKind kind) {
  return stepscope::needs_of(culprit_kind_names[static_cast<std::size_t>(kind)]);
}

// "4.65 ms (12.3 %) of each step of 37.9 ms".
Message of_steps(Ns gain, const JobResult& job) {
  const Ns step = job.explanation->step;
  return msg::of_steps(gain, Percent{share_of_time(gain, step)}, is_window(job), step);
}

}  // namespace

Message cost_of(Ns at_most, const JobResult& job) {
  return msg::costs(true, of_steps(at_most, job));
}

namespace {

// Names of groups may be hashes of 40 letters: the beginning of such a name is enough.
Message group_words(const CommGroup& group, const std::string& dim) {
  constexpr std::size_t long_name = 32;
  const bool hash = group.name.size() >= long_name && group.name.find(' ') == std::string::npos;
  return msg::process_group(hash ? group.name.substr(0, 8) + "…" : group.name,
                            value_if(dim != "unknown", dim), group.ranks);
}

// One rank has no peers: its loader is compared with a loader that keeps up.
Message loader_sentence(const StepFault& f, const JobResult& job, const Message& cost) {
  const bool a_step = !is_window(job);
  if (job.ranks.size() == 1) return msg::loader_of_one_rank(f.excess, a_step, cost);
  if (f.ranks.empty()) return msg::loaders_of_all(f.excess, a_step, cost);
  return (f.at_most ? msg::loaders_alike : msg::loader_of_ranks)(f.ranks, f.excess, a_step, cost);
}

Message sentence_of(const StepFault& f, const Culprit& v, const JobResult& job) {
  const Message cost = msg::costs(f.at_most, of_steps(f.gain, job));
  const bool cpu = on_cpu(job.ranks);
  const bool several = job.ranks.size() > 1;
  // The host's part of the excess of a slow rank.
  const Value of_host = f.scenario.part || f.excess <= Ns{0} ? Value() : Value(f.excess);
  switch (f.kind) {
    case StepFaultKind::slow_rank:
      if (v.more_work)
        return msg::more_work(f.ranks, Digits{*v.work}, cpu, Digits{f.ratio}, cost, of_host);
      return msg::slow_rank(cpu, f.ranks, Digits{f.ratio}, cost, of_host);
    case StepFaultKind::throttling:
      return msg::throttling(f.steps.front(), cpu, f.ranks, Digits{f.ratio}, cost, of_host);
    case StepFaultKind::late_host:
      return (cpu ? msg::late_host_on_cores : msg::late_host)(f.ranks, f.excess, cost);
    case StepFaultKind::data_loader:
      return loader_sentence(f, job, cost);
    case StepFaultKind::pauses:
      return msg::pauses(f.count, f.ranks, of_steps(f.gain, job), printable(f.between));
    case StepFaultKind::outlier_step:
      return msg::outlier_step(f.steps.front(), Digits{f.ratio}, f.excess, of_steps(f.gain, job));
    case StepFaultKind::slow_group:
      return msg::slow_group(group_words(job.collectives.matches.groups[*f.group], v.dim),
                             Digits{f.ratio}, cost);
    case StepFaultKind::stage_imbalance:
      return msg::stage_imbalance(f.stage.value_or(-1), f.ranks, Digits{f.ratio}, cost);
    case StepFaultKind::sync_calls:
      return cpu ? msg::early_waits(f.ranks, f.count, cost)
                 : msg::sync_calls(several, f.count, !is_window(job), cost);
    case StepFaultKind::unseen_host:
      return msg::unseen_host(several, f.ranks, f.excess, !is_window(job), printable(f.between),
                              cost);
  }
  return {};
}

// The confidence in a fault that gains this share of the step.
Confidence confidence_of(double share, bool at_most, const JobResult& job,
                         bool lacks_steps = false) {
  if (lacks_steps) return Confidence::low;
  const Confidence replay = replay_confidence(*job.explanation);
  const bool doubtful = at_most || (on_cpu(job.ranks) && share < sure_on_cores);
  return doubtful ? std::min(replay, Confidence::medium) : replay;
}

Culprit verdict_of(const StepFault& f, const JobResult& job) {
  const double share = share_of_time(f.gain, job.explanation->step);
  Culprit v{.kind = static_cast<CulpritKind>(f.kind),
            .ranks = f.ranks,
            .stage = f.stage,
            .steps = f.steps,
            .gain = f.gain,
            .share = share,
            .confidence = confidence_of(share, f.at_most, job, f.lacks_steps > 0),
            .peers_alike = f.at_most,
            .places = f.places,
            .change = name_of(f.scenario)};
  if (f.group) {
    v.group = job.collectives.matches.groups[*f.group].name;
    v.dim = dimension_names[static_cast<std::size_t>(job.collectives.dimension_of[*f.group])];
  }
  if (f.kind == StepFaultKind::slow_rank) {
    v.work = given_work(job, f.ranks);
    v.more_work =
        v.work && *v.work > 1 + threshold::uneven_work && *v.work - 1 > explains * (f.ratio - 1);
  }
  v.sentence = sentence_of(f, v, job);
  if (f.lacks_steps > 0)
    v.sentence = msg::sentences(Messages{std::move(v.sentence), msg::lasts_unknown(f.lacks_steps)});
  if (f.ranks.size() == 1 &&
      (f.kind == StepFaultKind::slow_rank || f.kind == StepFaultKind::throttling))
    v.clock = clock_cause(
        job, f.ranks.front(), f.ratio,
        f.kind == StepFaultKind::throttling ? std::optional(f.steps.front()) : std::nullopt);
  return v;
}

const WhatIf* answer_of(const JobResult& job, Change change) {
  for (const WhatIf& w : job.explanation->what_ifs)
    if (w.scenario.change == change && !w.scenario.kind && !w.scenario.rank) return &w;
  return nullptr;
}

// Another process that takes time slices of the ranks' devices, if that costs enough to be named.
std::optional<Culprit> shared_device(const JobResult& job) {
  const WhatIf* alone = answer_of(job, Change::device_alone);
  if (alone == nullptr ||
      share_of_time(alone->saved, job.explanation->step) < threshold::least_gain)
    return std::nullopt;
  Culprit v{.kind = CulpritKind::device_shared,
            .gain = alone->saved,
            .share = share_of_time(alone->saved, job.explanation->step),
            .confidence = replay_confidence(*job.explanation),
            .change = name_of(alone->scenario)};
  Ns slices{};  // on the rank with most
  for (const HeldDevice& held : job.explanation->held) {
    if (!held.slice) continue;
    v.ranks.push_back(held.rank);
    slices = std::max(slices, held.total);
  }
  if (v.ranks.empty()) return std::nullopt;
  slices /= std::max<std::int64_t>(1, std::ssize(job.steps.counted));
  v.sentence = msg::device_shared(v.ranks, msg::costs(false, of_steps(v.gain, job)));
  if (static_cast<double>(slices.count()) > alike * static_cast<double>(v.gain.count()))
    v.sentence = msg::sentences(
        Messages{std::move(v.sentence), msg::slices_in_all(slices, slices - v.gain)});
  return v;
}

// Allocations that free cached memory first, if they cost much: their cost is an estimate.
std::optional<Culprit> retried_allocations(const JobResult& job) {
  const WhatIf* free = answer_of(job, Change::allocator_free);
  if (free == nullptr) return std::nullopt;
  Culprit v{.kind = CulpritKind::allocation_retries,
            .confidence = Confidence::medium,
            .change = name_of(free->scenario)};
  for (const RankResult& r : job.ranks) {
    if (r.host.retries.count == 0) continue;
    v.ranks.push_back(r.rank);
    v.gain = std::max(v.gain, cost_of_retries(job, r));
  }
  v.share = share_of_time(v.gain, job.explanation->step);
  if (v.share < threshold::least_retries) return std::nullopt;
  v.sentence = msg::allocation_retries(v.ranks, msg::costs(true, of_steps(v.gain, job)));
  // Its change frees all of them.
  if (static_cast<double>(free->saved.count()) > alike * static_cast<double>(v.gain.count()))
    v.sentence = msg::sentences(
        Messages{std::move(v.sentence),
                 msg::allocator_in_all(
                     free->saved, Percent{share_of_time(free->saved, job.explanation->step)})});
  return v;
}

// Ranks whose work differs in each step, or one that has more: a slow rank says the latter itself.
std::optional<Culprit> given_unevenly(const JobResult& job, std::span<const Culprit> named) {
  const WhatIf* equal = answer_of(job, Change::ranks_balanced);
  if (equal == nullptr || std::ranges::any_of(named, &Culprit::more_work) ||
      share_of_time(equal->saved, job.explanation->step) < least_uneven)
    return std::nullopt;
  const bool by_work = uneven_work(job).has_value();
  if (!by_work && !named.empty()) return std::nullopt;
  Culprit v{.kind = by_work ? CulpritKind::sequence_imbalance : CulpritKind::uneven_compute,
            .gain = equal->saved,
            .share = share_of_time(equal->saved, job.explanation->step),
            .change = name_of(equal->scenario)};
  if (!by_work && v.share < (on_cpu(job.ranks) ? sure_on_cores : small_fault)) return std::nullopt;
  v.confidence = confidence_of(v.share, false, job);
  v.sentence =
      (by_work ? msg::uneven_work : msg::uneven_compute)(msg::costs(false, of_steps(v.gain, job)));
  return v;
}

// The mean of a step on the rank where these categories take most.
Ns most_of(const JobResult& job, std::initializer_list<BudgetCategory> categories) {
  double most = 0;
  for (const RankResult& r : job.ranks) {
    if (r.steps.empty()) continue;
    const CategoryMeans mean = mean_step_of(r);
    double time = 0;
    for (const BudgetCategory c : categories) time += mean[static_cast<std::size_t>(c)];
    most = std::max(most, time);
  }
  return Ns{std::llround(most)};
}

Ns exposed_time(const JobResult& job) {
  using enum BudgetCategory;
  return most_of(job, {comm_exposed_wait, comm_exposed_transfer, comm_exposed_unsplit});
}

// What is largest of what a replay can take away, if it takes at least this share of a step.
Culprit largest_bound(const JobResult& job, double least) {
  const Ns step = job.explanation->step;
  // That no fault stands out of what other programs on the cores do is no certainty.
  Culprit v{.kind = CulpritKind::compute_bound, .confidence = confidence_of(0, false, job)};
  const auto try_bound = [&](CulpritKind kind, Ns gain, std::string change) {
    if (share_of_time(gain, step) < least || gain <= v.gain) return;
    v.kind = kind;
    v.gain = gain;
    v.share = share_of_time(gain, step);
    v.change = std::move(change);
  };
  if (const WhatIf* w = answer_of(job, Change::communication_free))
    try_bound(CulpritKind::exposed_communication,
              w->shortest_step ? std::min(most_saved(*w), exposed_time(job)) : w->saved,
              name_of(w->scenario));
  if (const WhatIf* w = answer_of(job, Change::host_free))
    try_bound(CulpritKind::launch_bound, std::min(w->saved, time_without_work(job)),
              name_of(w->scenario));
  if (const WhatIf* w = answer_of(job, Change::copies_free))
    try_bound(CulpritKind::exposed_copies, w->saved, name_of(w->scenario));
  // A device that waits for launches also fills its pipeline late.
  const bool launches = v.kind == CulpritKind::launch_bound && v.share >= mostly_launches;
  if (!launches) try_bound(CulpritKind::bubble, bubble_of_stages(job), "");
  return v;
}

// What to record where calls have no peers: messages, or collectives.
Message peers_remedy(const JobResult& job) {
  if (Message all = leave_ranks_out(job); !all.empty()) return all;
  std::array<std::size_t, 2> without{};
  for (std::size_t v = 0; v < job.collectives.times.by_view.size(); ++v) {
    const auto& calls = job.collectives.matches.ranks[v].calls;
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (!job.collectives.times.by_view[v][i].split)
        ++without[calls[i].kind == CollectiveKind::send_recv ? 1 : 0];
  }
  const auto traced = [&](const CommGroup& group) {
    return std::ranges::all_of(group.ranks,
                               [&](int rank) { return find_rank(job.ranks, rank) != nullptr; });
  };
  return without[1] > without[0] && std::ranges::all_of(job.collectives.matches.groups, traced)
             ? msg::send_one_by_one()
             : msg::record_peers();
}

// The remedy with the page about it, if it is one of recording.
Message where_to_read(const Message& remedy) {
  return remedy.kind == MessageKind::leave_ranks_out ? remedy : msg::see_recording(remedy);
}

// What to record where delays have no cause although the launches are known.
Message cause_remedy(const JobResult& job) {
  const auto lacks_waits = [](const RankResult& r) {
    return r.device.kind == "cuda" && r.recording.of(Category::sync) == 0;
  };
  return msg::record_causes(std::ranges::any_of(job.ranks, lacks_waits));
}

// What to record where replayed steps differ from the recorded ones; nothing if nothing known
// is missing. More steps average chance out. They do not mend a replay that misses steps which
// hardly differ.
Message repeat_remedy(const JobResult& job, const HeldOut& held_out) {
  constexpr std::size_t few_steps = 10;
  const bool chance = 4 * held_out.variation >= held_out.error;
  const std::optional<int>& world = job.collectives.matches.world_size;
  if (world && static_cast<std::size_t>(*world) > job.ranks.size()) {
    Message all = leave_ranks_out(job);
    return all.empty() ? msg::record_all_ranks() : all;
  }
  const auto lacks_launches = [](const RankResult& r) {
    return r.device.kind == "cuda" && !r.recording.has_launch_rows();
  };
  if (std::ranges::any_of(job.ranks, lacks_launches)) return msg::record_host_and_device();
  if (job.steps.common.size() < few_steps && chance) return msg::record_ten_steps();
  return {};
}

}  // namespace

Confidence replay_confidence(const Explanation& e) {
  if (std::abs(e.residual_share) > residual_doubtful ||
      e.unexplained_share > unexplained_doubtful || mispredicts(e, replay_error_warning))
    return Confidence::low;
  return e.held_out ? Confidence::high : Confidence::medium;
}

Message leave_ranks_out(const JobResult& job) {
  const CollectiveMatches& matches = job.collectives.matches;
  if (matches.left_out == 0) return {};
  const std::size_t there = job.ranks.size() + matches.left_out;
  return msg::leave_ranks_out(matches.world_size &&
                              there < static_cast<std::size_t>(*matches.world_size));
}

namespace {

// Whether most device work of each rank was launched before all calls that are recorded.
bool launched_before(const JobResult& job) {
  return std::ranges::all_of(job.ranks, [](const RankResult& r) {
    return 2 * r.recording.early_rows > r.recording.device_rows;
  });
}

// Whether the job has another rank, recorded or not.
bool has_peers(const JobResult& job) {
  return job.ranks.size() > 1 || job.collectives.matches.world_size.value_or(1) > 1;
}

}  // namespace

std::optional<NoAnswer> no_answer(const JobResult& job) {
  if (!job.explanation || !job.explanation->refused) return std::nullopt;
  const Explanation& e = *job.explanation;
  if (device_unseen(job))
    return NoAnswer{msg::device_not_recorded(job.ranks.size() > 1),
                    msg::see_recording(device_rows_remedy(job))};
  if (launched_before(job))
    return NoAnswer{msg::launches_before(), msg::see_recording(msg::record_from_idle())};
  if (!has(recorded_facts(job), Fact::launches))
    return NoAnswer{msg::launches_unseen(), msg::see_recording(msg::record_launches())};
  if (e.unexplained_share <= unexplained_refused) {
    const Message remedy = repeat_remedy(job, *e.held_out);
    return NoAnswer{msg::replay_misses(Percent{e.held_out->error}, e.held_out->steps,
                                       Percent{e.held_out->variation}),
                    remedy.empty() ? Message() : where_to_read(remedy)};
  }
  struct Part {
    Ns time{};
    MessageMaker<1> words;
    Message remedy;
  };
  std::array<Part, 4> parts = {
      Part{e.path.unlaunched, msg::path_unlaunched, msg::record_launches()},
      Part{e.path.residual - e.path.unlaunched, msg::path_without_cause, cause_remedy(job)},
      Part{e.path.not_recorded, msg::path_before_rows, msg::record_same_steps(has_peers(job))},
      Part{e.path.unjoined, msg::path_without_peers, peers_remedy(job)}};
  std::ranges::stable_sort(parts, std::ranges::greater{}, &Part::time);
  Messages list;
  for (const Part& p : parts)
    if (const double share = share_of_time(p.time, e.path.length); share >= least_part)
      list.push_back(p.words(Percent{share}));
  return NoAnswer{msg::path_unexplained(Percent{e.unexplained_share}, std::move(list)),
                  where_to_read(parts.front().remedy)};
}

Ns time_without_work(const JobResult& job) {
  using enum BudgetCategory;
  Ns late{};  // on the rank where that is least
  if (!job.ranks.empty()) {
    const auto of_step = [](const RankResult& r) {
      return r.host.idle.late / std::max<std::int64_t>(1, std::ssize(r.steps));
    };
    late = of_step(*std::ranges::min_element(job.ranks, {}, of_step));
  }
  return std::max(Ns{0}, most_of(job, {idle_host, idle_launch, idle_sync}) - late);
}

Ns cost_of_retries(const JobResult& job, const RankResult& rank) {
  const Ns cost = rank.host.retries.total /
                  std::max<std::int64_t>(1, static_cast<std::int64_t>(accounted_count(rank)));
  const WhatIf* free = replay_tells(job) ? answer_of(job, Change::allocator_free) : nullptr;
  return free == nullptr ? cost : std::min(cost, free->saved);
}

bool is_window(const JobResult& job) {
  return job.steps.common.size() == 1 && !job.ranks.empty() && is_window(job.ranks.front());
}

bool replay_tells(const JobResult& job) {
  return job.explanation && !job.explanation->refused && job.explanation->step > Ns{0} &&
         !job.ranks.empty();
}

bool counts_in_length(const JobResult& job, std::int64_t step) {
  const auto& counted = job.steps.counted;
  return counted.empty() || std::ranges::find(counted, step, &Step::index) != counted.end();
}

Ns step_length(const JobResult& job) {
  if (job.explanation && job.explanation->step > Ns{0}) return job.explanation->step;
  return Ns{std::llround(mean_step(job))};
}

double mean_step(const JobResult& job) {
  double sum = 0;
  for (const CategorySpread& s : job.steps.spread) sum += s.mean;
  return sum;
}

std::optional<Culprit> next_after_compute(const JobResult& job) {
  Culprit next = largest_bound(job, least_next);
  if (next.kind == CulpritKind::compute_bound || lacks(recorded_facts(job), needs_of(next.kind)))
    return std::nullopt;
  return next;
}

std::vector<Culprit> find_culprits(const JobResult& job) {
  std::vector<Culprit> verdicts;
  if (!replay_tells(job)) return verdicts;
  for (const StepFault& f : job.explanation->faults) verdicts.push_back(verdict_of(f, job));
  const std::size_t compared = verdicts.size();
  if (auto shared = shared_device(job)) verdicts.push_back(*std::move(shared));
  if (auto retries = retried_allocations(job)) verdicts.push_back(*std::move(retries));
  if (auto uneven = given_unevenly(job, verdicts)) verdicts.push_back(*std::move(uneven));
  if (verdicts.size() > compared)
    std::ranges::stable_sort(verdicts, std::ranges::greater{}, &Culprit::gain);
  Culprit bound = largest_bound(job, least_bound);
  // A small fault is no headline if a bound is a multiple of it. Uneven stages are a part of the
  // bubble, which is no such bound for them.
  const bool small = !verdicts.empty() && verdicts.front().share < small_fault &&
                     !(bound.kind == CulpritKind::bubble &&
                       verdicts.front().kind == CulpritKind::stage_imbalance) &&
                     bound.gain >= many_times_fault * verdicts.front().gain;
  // Nor are waits where calls of the allocator, which wait for the device, cost the double.
  const WhatIf* free = answer_of(job, Change::allocator_free);
  const bool allocates = !verdicts.empty() && verdicts.front().kind == CulpritKind::sync_calls &&
                         bound.kind == CulpritKind::launch_bound && free != nullptr &&
                         free->saved >= 2 * verdicts.front().gain;
  if (verdicts.empty() || small || allocates) verdicts.insert(verdicts.begin(), std::move(bound));
  std::erase_if(verdicts, [facts = recorded_facts(job)](const Culprit& c) {
    return lacks(facts, needs_of(c.kind)).has_value();
  });
  return verdicts;
}

}  // namespace stepscope
