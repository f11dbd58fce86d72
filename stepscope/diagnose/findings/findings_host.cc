// SPDX-License-Identifier: Apache-2.0
// What the host makes the device wait for.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/device_words.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// The longest instance of an idle cause over all ranks, in the steps that count.
std::optional<FindingPlace> longest_idle(const JobResult& job, BudgetCategory cause,
                                         std::string& culprit) {
  std::optional<FindingPlace> place;
  for (const RankResult& r : job.ranks)
    for (const IdleCause& c : r.device.idle)
      for (const IdleInstance& i : c.largest) {
        if (c.cause != cause || !counts_in_length(job, i.step)) continue;
        if (place && i.wall <= place->time) continue;
        place = FindingPlace{r.rank, i.start, i.wall};
        culprit = i.culprit.value_or(i.host_activity);
      }
  return place;
}

// Whether most of the time that a rank's device waits for its host passes in start-up.
bool start_up_prevails(const RankResult& r) {
  Ns all{};
  for (const IdleCause& c : r.device.idle)
    if (c.cause == BudgetCategory::idle_host || c.cause == BudgetCategory::idle_launch)
      all += c.total;
  return r.recording.start_up.idle > Ns{0} && 2 * r.recording.start_up.idle > all;
}

// An operator of ATen that takes this long does not only launch.
constexpr Ns long_operator = std::chrono::microseconds{200};
// A graph replaces the launches of a step by one: of fewer there is little to replace.
constexpr std::uint64_t few_launches = 10;

// The operator that computes on the host during most of the longest gaps; empty without such an
// operator.
std::string computing_operator(const RankResult& r) {
  std::map<std::string, Ns> by_operator;
  Ns all{};
  for (const IdleCause& c : r.device.idle) {
    if (c.cause != BudgetCategory::idle_host) continue;
    for (const IdleInstance& i : c.largest) {
      all += i.wall;
      if (i.culprit && i.culprit->starts_with("aten::") && i.wall >= long_operator)
        by_operator[*i.culprit] += i.wall;
    }
  }
  // One that has kernels of its own computes on the device: the host prepares their launch.
  const auto on_device = [&](const std::string& name) {
    return std::ranges::any_of(r.work.operators, [&](const OperatorRow& o) {
      return o.device_calls > 0 && (*r.strings)[o.name] == name;
    });
  };
  for (const auto& [name, time] : by_operator)
    if (2 * time >= all && !on_device(name)) return name;
  return {};
}

Message launch_advice(const FindingList& list, const RankResult& r) {
  if (start_up_prevails(r)) return msg::record_after_warm_up(list.pytorch());
  if (const std::string name = computing_operator(r); !name.empty())
    return msg::run_on_device(printable(name));
  const bool graphs = r.recording.graph_launches > 0;
  const std::uint64_t steps = std::max<std::uint64_t>(1, accounted_count(r));
  const bool many = r.host.launches >= few_launches * steps;
  Messages advice;
  const bool xla = r.recording.format == "xplane";  // which makes graphs itself
  if (!graphs && many && !xla && (r.device.kind == "cuda" || r.device.kind == "rocm"))
    advice.push_back(list.pytorch()            ? msg::graphs_of_pytorch()
                     : r.device.kind == "cuda" ? msg::graphs_of_cuda()
                                               : msg::graphs_of_hip());
  if (many && list.pytorch() && list.trains()) advice.push_back(msg::fused_operators());
  advice.push_back(msg::larger_batches(list.pytorch() && !list.trains()));
  return msg::launch_less(std::move(advice), list.pytorch());
}

void find_launch_bound(FindingList& list) {
  const RankResult& r = rank_with_most(list.job().ranks, [](auto& x) { return x.host.starved; });
  if (r.device.is_cpu() || r.host.launches == 0) return;
  Finding f{.id = "launch_bound",
            .sort = FindingSort::bound,
            .what = msg::found_launch_bound(),
            .evidence = {msg::launches_find_idle_for(r.host.empty_queue_launches, r.host.launches,
                                                     r.rank, r.host.starved, accounted_count(r))},
            .advice = launch_advice(list, r)};
  std::string culprit;
  f.place = longest_idle(list.job(), BudgetCategory::idle_host, culprit);
  if (!culprit.empty())
    f.evidence.push_back(msg::longest_before(f.place->time, f.place->rank, printable(culprit)));
  // A late rank's gaps are host time too, but nothing that CUDA graphs would cure.
  const WhatIf* free = list.what_if("host_free");
  const WhatIf* late = nullptr;
  for (const Straggler& s : list.job().stragglers)
    if (const WhatIf* w = list.what_if(fmt::format("rank_as_peers@{}", s.rank));
        s.significant && w != nullptr && (late == nullptr || w->saved > late->saved))
      late = w;
  if (free == nullptr) return;
  const Ns most_idle = time_without_work(list.job());
  if (late == nullptr || list.share(late->saved) < threshold::least_gain) {
    if (free->saved <= most_idle)
      list.add_replayed(std::move(f), free);
    else
      list.add_bounded(std::move(f), most_idle, msg::by_time_without_work());
    return;
  }
  list.add_bounded(std::move(f), std::min(free->saved - late->saved, most_idle),
                   msg::one_less_other(name_of(free->scenario), name_of(late->scenario)));
}

void find_syncs(FindingList& list) {
  const RankResult& r = rank_with_most(list.job().ranks, [](auto& x) { return x.host.sync; });
  if (r.device.is_cpu() || list.has_fault("sync_calls")) return;
  Finding f{.id = "sync_calls",
            .what = msg::found_sync_calls(),
            .evidence = most_calls(r, r.host.sync_calls, msg::calls_block),
            .advice = msg::remove_syncs(list.pytorch())};
  std::string culprit;
  f.place = longest_idle(list.job(), BudgetCategory::idle_sync, culprit);
  if (!culprit.empty())
    f.evidence.push_back(msg::longest_idle_sync(f.place->time, printable(culprit)));
  list.add_replayed(std::move(f), list.what_if("sync_free"));
}

void find_rows(FindingList& list) {
  const auto per_step = [&](const RankResult& r, Ns t) {
    return t / std::max<std::int64_t>(1, static_cast<std::int64_t>(accounted_count(r)));
  };
  const RankResult& loads = rank_with_most(list.job().ranks, [](auto& x) { return x.host.data; });
  std::string culprit;
  if (!list.has_fault("data_loader"))
    list.add_replayed(
        {.id = "data_loader",
         .sort = replay_tells(list.job()) ? FindingSort::opportunity : FindingSort::fault,
         .what = msg::found_data_loader(),
         .evidence = {msg::rank_spends(loads.rank, per_step(loads, loads.host.data))},
         .place = longest_idle(list.job(), BudgetCategory::idle_data, culprit),
         .advice = msg::speed_up_loaders()},
        list.what_if("data_free"));
  const RankResult& allocates =
      rank_with_most(list.job().ranks, [](auto& x) { return x.host.allocator; });
  list.add_replayed(
      {.id = "allocator_in_step",
       .what = msg::found_allocator(),
       .evidence = most_calls(allocates, allocates.host.allocator_calls, msg::calls_take),
       .advice = msg::configure_allocator(list.pytorch()),
       .reasons = {"allocation_retries"}},
      list.what_if("allocator_free"));
  const RankResult& collects = rank_with_most(list.job().ranks, [](auto& x) { return x.host.gc; });
  list.add_replayed(
      {.id = "garbage_collection",
       .what = msg::found_collector(),
       .evidence = {msg::rank_spends(collects.rank, per_step(collects, collects.host.gc))},
       .advice = msg::collect_rarely()},
      list.what_if("collector_free"));
  const RankResult& profiled =
      rank_with_most(list.job().ranks, [](auto& x) { return x.host.overhead; });
  list.add_replayed({.id = "profiler_overhead",
                     .what = msg::found_profiler(),
                     .evidence = {msg::rank_over_steps(profiled.rank, profiled.host.overhead)},
                     .advice = msg::record_less(list.pytorch())},
                    list.what_if("profiler_free"));
}

// Copies between host and device that the step waits for.
void find_copies(FindingList& list) {
  if (only_fills(list.job())) return;  // no data moves
  Finding f{
      .id = "exposed_copies", .what = msg::found_copies(), .place = list.place_on_path("copy")};
  bool pageable = false;
  for (const RankResult& r : list.job().ranks)
    for (const CopyRow& copy : r.memory.copies) {
      if (f.evidence.size() >= 3 || (copy.direction != "HtoD" && copy.direction != "DtoH"))
        continue;
      pageable = pageable || copy.pinned == false;
      const auto host = [](bool held) { return held ? msg::pinned() : msg::pageable(); };
      f.evidence.push_back(msg::copies_of_rank(r.rank, copy.count, copy.direction,
                                               copy.pinned ? host(*copy.pinned) : Message(),
                                               copy.total, r.steps.size()));
    }
  f.advice = pageable ? msg::pin_memory() : msg::copy_ahead();
  list.add_replayed(std::move(f), list.what_if("copies_free"));
}

}  // namespace

void find_host(FindingList& list) {
  find_launch_bound(list);
  find_syncs(list);
  find_rows(list);
  find_copies(list);
}

// Two things that hold the host up and that traces show only in part: Python's lock, and an
// allocator that finds no room. The lock is also seen in stacks (stacks_findings.cc).

namespace {

void find_retries(FindingList& list) {
  const RankResult& most = rank_with_most(list.job().ranks, [](auto& r) {
    return std::pair(r.host.retries.count > 0, r.host.retries.total);
  });
  const AllocationRetries& retries = most.host.retries;
  if (retries.count == 0) return;
  const bool replayed = replay_tells(list.job()) && list.what_if("allocator_free") != nullptr;
  Finding f{.id = "allocation_retries",
            .sort = FindingSort::fault,
            .what = msg::found_retries(),
            .evidence = {msg::retries_of_rank(
                most.rank, retries.count, retries.frees,
                value_if(retries.after_failure > 0, retries.after_failure), retries.total)},
            .place = FindingPlace{most.rank, retries.worst_at, retries.worst},
            .advice = msg::leave_room(),
            .change = replayed ? "allocator_free" : ""};
  if (retries.inferred) f.evidence.push_back(msg::inferred_retries());
  list.add_bounded(std::move(f), cost_of_retries(list.job(), most), msg::by_those_calls());
}

void find_lock_rows(FindingList& list) {
  const RankResult& most = rank_with_most(
      list.job().ranks, [](auto& r) { return std::pair(r.host.gil.count > 0, r.host.gil.idle); });
  const GilWaits& gil = most.host.gil;
  if (gil.count == 0) return;
  Finding f = lock_finding();
  f.evidence.push_back(msg::waits_for_lock(most.rank, gil.count, gil.total, gil.idle));
  f.place = FindingPlace{most.rank, gil.worst_at, gil.worst};
  const std::int64_t steps = std::max<std::int64_t>(1, std::ssize(most.steps));
  list.add_bounded(std::move(f), gil.idle / steps, msg::by_idle_in_waits());
}

}  // namespace

Messages most_calls(const RankResult& r, std::span<const CallSum> calls, MessageMaker<5> line) {
  Messages lines;
  const std::size_t steps = accounted_count(r);
  for (const CallSum& call : calls.first(std::min<std::size_t>(2, calls.size())))
    lines.push_back(
        line(r.rank, call.count, printable((*r.strings)[call.name]), call.total, steps));
  return lines;
}

Finding lock_finding() {
  return {.id = "gil_contention",
          .sort = FindingSort::fault,
          .key = "gil_contention",
          .what = msg::found_lock(),
          .advice = msg::free_the_lock()};
}

void find_lock_and_retries(FindingList& list) {
  find_retries(list);
  find_lock_rows(list);
}

// GPUs that slow down to protect themselves, by the readings of logs given with the traces.

namespace {

constexpr std::size_t most_slowed_rows = 4;

struct SlowedGpu {
  const GpuOfRank* gpu = nullptr;
  ClockReason reason{};
  double share = 0;
};

// The protection that is active for longest. The bit of the hardware's slowdown counts where
// neither of its two causes is known to be the reason.
std::optional<SlowedGpu> slowed(const GpuOfRank& gpu) {
  std::optional<SlowedGpu> most;
  for (std::size_t b = 0; b < clock_reason_count; ++b) {
    const auto reason = static_cast<ClockReason>(b);
    const auto share = gpu.whole.reasons[b].mean();
    if (!is_protection(reason) || !share || *share < threshold::clock_limited) continue;
    if (!most || *share > most->share || most->reason == ClockReason::hw_slowdown)
      most = SlowedGpu{.gpu = &gpu, .reason = reason, .share = *share};
  }
  return most;
}

// Ranks whose lower clock is a fault's cause already.
std::vector<int> told_by_faults(const JobResult& job) {
  std::vector<int> ranks;
  if (!replay_tells(job)) return ranks;
  for (const Culprit& c : find_culprits(job))
    if (c.clock && c.clock->verdict != ClockVerdict::alike)
      ranks.insert(ranks.end(), c.ranks.begin(), c.ranks.end());
  return ranks;
}

Message slowed_in_words(const SlowedGpu& s) {
  const GpuState& state = s.gpu->whole;
  const auto ghz = [](std::optional<double> mhz) {
    return mhz ? Value(Digits{*mhz / 1000}) : Value();
  };
  return msg::gpu_slowed(s.gpu->rank, in_words(s.reason), Percent{s.share},
                         ghz(state.sm_clock_mhz.mean()), ghz(s.gpu->gpu.max_sm_clock_mhz),
                         digits_of(state.temperature_celsius.mean()),
                         digits_of(state.power_watts.mean()));
}

}  // namespace

void find_clocks(FindingList& list) {
  if (!list.job().gpus) return;
  std::vector<SlowedGpu> all;
  const std::vector<int> told = told_by_faults(list.job());
  for (const GpuOfRank& gpu : list.job().gpus->ranks)
    if (gpu.whole.tells() && std::ranges::find(told, gpu.rank) == told.end())
      if (const auto one = slowed(gpu)) all.push_back(*one);
  if (all.empty()) return;
  std::ranges::stable_sort(all, std::ranges::greater{}, &SlowedGpu::share);
  std::vector<int> ranks;
  for (const SlowedGpu& s : all) ranks.push_back(s.gpu->rank);
  std::ranges::sort(ranks);
  Finding f{.id = "gpu_slowdown", .sort = FindingSort::fault, .what = msg::found_slowdown(ranks)};
  for (const SlowedGpu& s : all)
    if (f.evidence.size() < most_slowed_rows) f.evidence.push_back(slowed_in_words(s));
  ClockCause cause{.verdict = ClockVerdict::lower};
  cause.reasons.push_back({all.front().reason, all.front().share, std::nullopt});
  f.advice = advice_for_clock(cause);
  list.add(std::move(f));
}

}  // namespace stepscope
