// SPDX-License-Identifier: Apache-2.0
// Exposed collectives, small messages, slow links, congestion, stages out of balance.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "stepscope/analysis/collectives/transfers.h"
#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/judged_transfers.h"
#include "stepscope/diagnose/stage_means.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/diagnose/unit_fetches.h"
#include "stepscope/diagnose/verdict.h"
#include "stepscope/fit/expected_collectives.h"
#include "stepscope/say/format.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

std::string_view kind_name(CollectiveKind kind) {
  return collective_kind_names[static_cast<std::size_t>(kind)];
}

bool sums_activations(const Collectives& job, const CollectiveRow& row) {
  return row.bytes && std::ranges::any_of(row.groups, [&](std::uint32_t group) {
           return job.of_activations.contains({row.kind, group, row.bytes->value});
         });
}

Message advice_for(CollectiveKind kind, Dimension dimension, bool activations, bool trains) {
  if (dimension == Dimension::tp || dimension == Dimension::sp || activations)
    return msg::overlap_tensor_parallel();
  if (dimension == Dimension::cp) return msg::overlap_context_parallel();
  if (!trains && kind != CollectiveKind::all_to_all) return msg::overlap_inference();
  switch (kind) {
    case CollectiveKind::all_gather:
      return msg::gather_earlier();
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_reduce:
      return msg::reduce_earlier();
    case CollectiveKind::all_to_all:
      return msg::overlap_routing();
    case CollectiveKind::send:
    case CollectiveKind::recv:
    case CollectiveKind::send_recv:
      return msg::overlap_messages();
    default:
      return msg::overlap_collective();
  }
}

// A step that counts, mean over the ranks.
Ns exposed_of(const JobResult& job, CollectiveKind kind) {
  Ns sum{};
  const Collectives& all = job.collectives;
  for (std::size_t v = 0; v < all.exposed.size(); ++v) {
    const RankResult& r = job.ranks[v];
    const std::vector<Step>& counted = r.counted.steps.empty() ? r.steps : r.counted.steps;
    const auto places = places_by_number(counted);
    const auto counts = [&](std::optional<std::size_t> step) {
      return step && places.contains(r.steps[*step].index);
    };
    Ns of_rank{};
    for (std::size_t c = 0; c < all.exposed[v].size(); ++c)
      if (const CollectiveCall& call = all.matches.ranks[v].calls[c];
          call.kind == kind && counts(call.step))
        of_rank += all.exposed[v][c];
    sum += of_rank / std::max<std::int64_t>(1, std::ssize(counted));
  }
  return sum / std::max<std::int64_t>(1, std::ssize(all.exposed));
}

void find_exposed(FindingList& list) {
  // Nothing shows what ran during the communication.
  if (only_communication(list.job())) return;
  for (std::size_t k = 0; k < collective_kind_count; ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    const WhatIf* gain = list.what_if(fmt::format("communication_free:{}", kind_name(kind)));
    if (gain == nullptr) continue;
    const std::int64_t steps = most_steps(list.job().ranks);
    Finding f{.id = "exposed_communication",
              .sort = FindingSort::bound,
              .key = fmt::format("exposed_communication:{}", kind_name(kind)),
              .what = msg::found_exposed_communication(kind_name(kind)),
              .evidence = {msg::exposed_a_step(exposed_of(list.job(), kind))},
              .place = list.place_on_path(kind_name(kind)),
              .reasons = {"slow_link", "sync_calls", "bucket_too_small", "bucket_too_large",
                          "prefetch_miss", "congestion", "algorithm_not_best"}};
    const CollectiveRow* most = nullptr;
    for (const CollectiveRow& row : list.job().collectives.rows) {
      if (row.kind != kind) continue;
      if (most == nullptr || row.exposed > most->exposed) most = &row;
      const double times = static_cast<double>(steps) *
                           static_cast<double>(std::max<std::size_t>(row.groups.size(), 1));
      if (f.evidence.size() < 3 && row.bytes && row.busbw)
        f.evidence.push_back(msg::calls_of_size(Digits{static_cast<double>(row.count) / times},
                                                row.bytes, printable(row.group),
                                                Digits{row.busbw->value / 1e9}));
    }
    f.advice = advice_for(kind, most == nullptr ? Dimension::unknown : most->dimension,
                          most != nullptr && sums_activations(list.job().collectives, *most),
                          list.trains());
    list.add_replayed(std::move(f), gain);
  }
}

// What free communication saves at most; 0 where the replay does not show it.
Ns most_of_free(const FindingList& list) {
  const WhatIf* free = list.what_if("communication_free");
  return free == nullptr ? Ns{0} : most_saved(*free);
}

using Times = std::vector<double>;  // ascending, ns
// By kind, group and bytes.
using TransferGroups = std::map<std::tuple<CollectiveKind, std::uint32_t, std::int64_t>, Times>;

TransferGroups transfers_of(const Collectives& job) {
  TransferGroups groups;
  for (std::size_t v = 0; v < job.matches.ranks.size(); ++v) {
    const auto& calls = job.matches.ranks[v].calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const CallTime& time = job.times.by_view[v][c];
      if (!time.split || !calls[c].bytes || calls[c].group == no_row) continue;
      groups[{calls[c].kind, calls[c].group, calls[c].bytes->value}].push_back(
          static_cast<double>(transfer_of(calls[c], time).count()));
    }
  }
  for (auto& [key, group] : groups) std::ranges::sort(group);
  return groups;
}

// The latency of each kind and group, from the medians of its message sizes. One size is no
// evidence.
std::map<std::pair<CollectiveKind, std::uint32_t>, Ns> latencies_of(const TransferGroups& groups) {
  std::map<std::pair<CollectiveKind, std::uint32_t>, TimesOfSizes> times;
  for (const auto& [key, group] : groups)
    times[{std::get<0>(key), std::get<1>(key)}][std::get<2>(key)] =
        Ns{std::llround(upper_median_sorted(group))};
  std::map<std::pair<CollectiveKind, std::uint32_t>, Ns> latencies;
  for (const auto& [key, of_key] : times)
    if (const auto latency = latency_of(of_key)) latencies[key] = *latency;
  return latencies;
}

// Many messages so small that their size hardly counts.
void find_small_messages(FindingList& list) {
  const WhatIf* gain = list.what_if("latency:2");
  std::uint64_t small = 0;
  std::uint64_t all = 0;
  std::int64_t largest_small = 0;
  Ns longest{};
  const TransferGroups groups = transfers_of(list.job().collectives);
  const auto latencies = latencies_of(groups);
  for (const auto& [key, group] : groups) {
    all += group.size();
    const auto latency = latencies.find({std::get<0>(key), std::get<1>(key)});
    if (latency == latencies.end() || static_cast<double>(latency->second.count()) <
                                          threshold::mostly_latency * upper_median_sorted(group))
      continue;
    small += group.size();
    largest_small = std::max(largest_small, std::get<2>(key));
    longest = std::max(longest, latency->second);
  }
  if (small < threshold::least_calls || small * 2 < all) return;
  list.add_replayed({.id = "bucket_too_small",
                     .what = msg::found_small_messages(),
                     .evidence = {msg::calls_in_latency(small, all, Bytes{largest_small}, longest)},
                     .advice = msg::send_larger_messages()},
                    gain);
}

void find_congestion(FindingList& list) {
  // The cores of a CPU rank move its bytes and compute: uneven transfers show no link.
  if (on_cpu(list.job().ranks)) return;
  constexpr std::int64_t least_bytes = 1 << 16;  // smaller messages are latency on every link
  double lost = 0;
  Message worst;
  double worst_ratio = 0;
  for (const auto& [key, group] : transfers_of(list.job().collectives)) {
    if (group.size() < threshold::least_calls || std::get<2>(key) < least_bytes) continue;
    const double median = upper_median_sorted(group);
    const double tail = group[group.size() * 9 / 10];
    if (median <= 0 || tail < threshold::congestion_spread * median) continue;
    for (const double t : group) lost += std::max(0.0, t - median);
    if (tail / median <= worst_ratio) continue;
    worst_ratio = tail / median;
    worst = msg::spread_of_calls(kind_name(std::get<0>(key)), Bytes{std::get<2>(key)},
                                 Nanoseconds(median), Nanoseconds(tail));
  }
  std::size_t steps = 0;  // of all ranks, as `lost`
  for (const RankResult& r : list.job().ranks) steps += r.steps.size();
  if (worst.empty() || steps == 0) return;
  const Ns above{static_cast<std::int64_t>(lost / static_cast<double>(steps))};
  list.add_bounded({.id = "congestion",
                    .sort = FindingSort::fault,
                    .what = msg::found_congestion(),
                    .evidence = {worst},
                    .advice = msg::look_for_other_jobs(),
                    .confidence = Confidence::low},
                   std::min(above, most_of_free(list)), msg::by_median_transfers());
}

Ns whole_ns(double s) { return Ns{std::llround(s * 1e9)}; }

void find_slow_links(FindingList& list) {
  const FindingContext& context = list.context();
  if (context.machine == nullptr) return;
  for (const SlowLinks& slow : slow_links(list.job(), *context.machine, context.world_size)) {
    Finding f{.id = "slow_link",
              .sort = FindingSort::fault,
              .key = fmt::format("slow_link:{}", slow.name),
              .what = slow_links_sentence(slow, *context.machine),
              .advice = msg::check_transport()};
    for (const ExpectedCollective& e : slow.rows) {
      if (f.evidence.size() == 3) break;
      const double calls = static_cast<double>(e.calls);
      f.evidence.push_back(msg::call_beside_machine(
          kind_name(e.row->kind), e.row->bytes, whole_ns(e.measured / calls),
          whole_ns(e.expected / calls), context.machine->name));
    }
    list.add_bounded(std::move(f), std::min(slow.lost, most_of_free(list)), msg::by_links());
  }
}

void find_bubble(FindingList& list) {
  const JobResult& job = list.job();
  const Ns bubble = bubble_of_stages(job);
  if (bubble <= Ns{0}) return;
  Finding f{.id = "bubble",
            .sort = FindingSort::bound,
            .what = msg::found_bubble(),
            .advice = msg::shrink_bubble()};
  const auto own = pipeline_efficiency(job);
  const auto even = even_efficiency(*job.pipeline);
  if (own && even) f.evidence.push_back(msg::efficiency_of_stages(Percent{*own}, Percent{*even}));
  list.add_bounded(std::move(f), bubble, msg::by_idle_stages());
}

void find_imbalance(FindingList& list) {
  if (list.has_fault("stage_imbalance")) return;
  const auto busiest = busiest_stage(list.job());
  if (busiest && busiest->more < threshold::uneven_stages) return;
  list.add_replayed(
      {.id = "stage_imbalance",
       .sort = replay_tells(list.job()) ? FindingSort::opportunity : FindingSort::fault,
       .what = busiest ? msg::found_stage_imbalance(busiest->stage, Percent{busiest->more})
                       : msg::found_stage_imbalance(Value(), Value()),
       .evidence = busiest ? busiest->evidence : Messages(),
       .advice = msg::move_layers_off_slowest()},
      list.what_if("stages_balanced"));
}

}  // namespace

void find_communication(FindingList& list) {
  find_exposed(list);
  if (!find_bucket_size(list)) find_small_messages(list);
  find_congestion(list);
  find_slow_links(list);
  find_imbalance(list);
  find_bubble(list);
}

// Gradients in messages of another size.

bool find_bucket_size(FindingList& list) {
  if (!list.job().explanation || !list.job().explanation->buckets) return false;
  const BucketSearch& search = *list.job().explanation->buckets;
  const Bytes best = search.best.scenario.size.value_or(Bytes{});
  const bool larger = best > search.usual;
  Finding f{.id = larger ? "bucket_too_small" : "bucket_too_large",
            .what = larger ? msg::found_small_buckets() : msg::found_large_buckets(),
            .evidence = {msg::usual_size(kind_name(search.kind), search.usual, search.before),
                         msg::best_size(best, search.after)},
            .place = list.place_on_path(kind_name(search.kind)),
            .advice = msg::choose_bucket(larger, best)};
  append(f.evidence, search.best.notes);
  const bool counts = list.share(search.best.saved) >= threshold::least_gain;
  list.add_replayed(std::move(f), &search.best);
  return counts && larger;
}

// Parameters of sharded units that were not there when they were needed.

namespace {

// The fewest units ahead that give back nearly all that prefetching can.
const WhatIf* best_prefetch(const JobResult& job) {
  if (!job.explanation) return nullptr;
  Ns most{};
  for (const WhatIf& w : job.explanation->what_ifs)
    if (w.scenario.change == Change::prefetch) most = std::max(most, w.saved);
  const WhatIf* best = nullptr;
  for (const WhatIf& w : job.explanation->what_ifs) {
    if (w.scenario.change != Change::prefetch || w.saved <= Ns{0}) continue;
    if (static_cast<double>(w.saved.count()) <
        threshold::enough_prefetch * static_cast<double>(most.count()))
      continue;
    if (best == nullptr || w.scenario.factor < best->scenario.factor) best = &w;
  }
  return best;
}

Message advice_for(UnitSource source, double ahead) {
  switch (source) {
    case UnitSource::stepscope:
      return msg::prefetch_stepscope(Digits{ahead});
    case UnitSource::fsdp1:
      return msg::prefetch_fsdp1();
    case UnitSource::fsdp2:
      return msg::prefetch_fsdp2(Digits{ahead});
    case UnitSource::deepspeed:
      return msg::prefetch_deepspeed();
    case UnitSource::none:
      break;
  }
  return {};
}

}  // namespace

void find_prefetch(FindingList& list) {
  const JobResult& job = list.job();
  const WhatIf* best = best_prefetch(job);
  if (best == nullptr || job.units.rows.empty() || job.units.rows.front().late_time <= Ns{0})
    return;
  const UnitRow& worst = job.units.rows.front();
  const UnitFetch& fetch = worst.worst.fetch;
  Finding f{
      .id = "prefetch_miss",
      .sort = FindingSort::fault,
      .what = msg::found_late_fetches(Digits{best->scenario.factor}),
      .evidence = {fetches_in_words(job.units),
                   msg::worst_fetch(worst.unit,
                                    unit_pass_names[static_cast<std::size_t>(worst.pass)],
                                    fetch.late(), fetch.transfer)},
      .place = FindingPlace{worst.worst.rank, fetch.needed, fetch.late()},
      .advice = msg::prefetch_costs(advice_for(unit_source(job.units), best->scenario.factor))};
  if (const auto ahead = recorded_prefetch(job.units.waits))
    f.evidence.push_back(msg::usual_fetches(*ahead));
  list.add_replayed(std::move(f), best);
}

// All-reduces that ran on another algorithm than the model of the machine's links would choose.
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
  const auto placed =
      placement_of(row, context.job.collectives.matches, network, context.world_size);
  const NamedAlgorithm ran = algorithm_of(row, context.job.traffic.algorithms);
  if (!placed || ran == NamedAlgorithm::unknown) return std::nullopt;
  Worse worse{.row = &row, .ran = ran, .ran_time = {}, .best = {}};
  worse.measured = (*row.bytes / *row.algbw).count();
  const auto times = collective_algorithms(network, row.kind, *row.bytes, placed->group);
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
  if (context.machine == nullptr || context.job.traffic.algorithms.empty()) return;
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
  Finding f{.id = "algorithm_not_best",
            .what = msg::found_algorithm(context.machine->name),
            .place = list.place_on_path("all_reduce"),
            .advice = msg::look_for_forced_algorithm()};
  for (const Worse& w : found) {
    if (f.evidence.size() == 3) break;
    f.evidence.push_back(
        msg::ran_on_algorithm(w.row->count, w.row->bytes, printable(w.row->group),
                              named_algorithm_names[static_cast<std::size_t>(w.ran)],
                              whole_ns(w.measured), whole_ns(w.ran_time.time.count()),
                              algorithm_names[static_cast<std::size_t>(w.best.algorithm)],
                              whole_ns(w.best.time.count())));
  }
  // The replayed step is a maximum of sums, so convex in what all transfers take: a part of their
  // time gives back at least that part of the gain of free transfers. The part is weighted by
  // exposed time.
  const double part = lost / static_cast<double>(exposed.count());
  list.add_bounded(
      std::move(f),
      Ns{std::llround(part * static_cast<double>(std::max(Ns{0}, most_saved(*free)).count()))},
      msg::part_of_free(Percent{part}, "communication_free:all_reduce"));
}

}  // namespace stepscope
