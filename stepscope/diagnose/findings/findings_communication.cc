// SPDX-License-Identifier: Apache-2.0
// Exposed collectives, small messages, slow links, congestion, stages out of balance.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stepscope/analysis/collectives/transfers.h"
#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
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

Message advice_for(CollectiveKind kind, Dimension dimension, bool trains) {
  if (dimension == Dimension::tp || dimension == Dimension::sp)
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

// Over all steps, mean over the ranks.
Ns exposed_of(const Collectives& job, CollectiveKind kind) {
  Ns sum{};
  for (std::size_t v = 0; v < job.exposed.size(); ++v)
    for (std::size_t c = 0; c < job.exposed[v].size(); ++c)
      if (job.matches.ranks[v].calls[c].kind == kind) sum += job.exposed[v][c];
  return sum / std::max<std::int64_t>(1, std::ssize(job.exposed));
}

void find_exposed(FindingList& list) {
  // Nothing tells what ran beside it.
  if (only_communication(list.job())) return;
  for (std::size_t k = 0; k < collective_kind_count; ++k) {
    const auto kind = static_cast<CollectiveKind>(k);
    const WhatIf* gain = list.what_if(fmt::format("communication_free:{}", kind_name(kind)));
    if (gain == nullptr) continue;
    Finding f;
    f.id = "exposed_communication";
    f.sort = FindingSort::bound;
    f.key = fmt::format("exposed_communication:{}", kind_name(kind));
    f.what = msg::found_exposed_communication(kind_name(kind));
    const CollectiveRow* most = nullptr;
    const std::int64_t steps = most_steps(list.job());
    for (const CollectiveRow& row : list.job().collectives.rows) {
      if (row.kind != kind) continue;
      if (most == nullptr || row.exposed > most->exposed) most = &row;
      const double times = static_cast<double>(steps) *
                           static_cast<double>(std::max<std::size_t>(row.groups.size(), 1));
      if (f.evidence.size() < 2 && row.bytes && row.busbw)
        f.evidence.push_back(msg::calls_of_size(Digits{static_cast<double>(row.count) / times},
                                                row.bytes, printable(row.group),
                                                Digits{row.busbw->value / 1e9}));
    }
    f.evidence.insert(f.evidence.begin(),
                      msg::exposed_a_step(exposed_of(list.job().collectives, kind) / steps));
    f.advice =
        advice_for(kind, most == nullptr ? Dimension::unknown : most->dimension, list.trains());
    f.reasons = {"slow_link",     "sync_calls", "bucket_too_small",  "bucket_too_large",
                 "prefetch_miss", "congestion", "algorithm_not_best"};
    f.place = list.place_on_path(kind_name(kind));
    list.add_replayed(std::move(f), gain);
  }
}

struct TransferGroup {
  std::vector<double> times;  // ascending, ns
};

// By kind, group and bytes.
using TransferGroups =
    std::map<std::tuple<CollectiveKind, std::uint32_t, std::int64_t>, TransferGroup>;

double median_of(const TransferGroup& group) { return group.times[group.times.size() / 2]; }

TransferGroups transfers_of(const Collectives& job) {
  TransferGroups groups;
  for (std::size_t v = 0; v < job.matches.ranks.size(); ++v) {
    const auto& calls = job.matches.ranks[v].calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const CallTime& time = job.times.by_view[v][c];
      if (!time.split || !calls[c].bytes || calls[c].group == no_row) continue;
      groups[{calls[c].kind, calls[c].group, calls[c].bytes->value}].times.push_back(
          static_cast<double>(transfer_of(calls[c], time).count()));
    }
  }
  for (auto& [key, group] : groups) std::ranges::sort(group.times);
  return groups;
}

// The latency of each kind and group, from the medians of its message sizes. One size is no
// evidence.
std::map<std::pair<CollectiveKind, std::uint32_t>, Ns> latencies_of(const TransferGroups& groups) {
  std::map<std::pair<CollectiveKind, std::uint32_t>, TimesOfSizes> times;
  for (const auto& [key, group] : groups)
    times[{std::get<0>(key), std::get<1>(key)}][std::get<2>(key)] =
        Ns{std::llround(median_of(group))};
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
    all += group.times.size();
    const auto latency = latencies.find({std::get<0>(key), std::get<1>(key)});
    if (latency == latencies.end() ||
        static_cast<double>(latency->second.count()) < threshold::mostly_latency * median_of(group))
      continue;
    small += group.times.size();
    largest_small = std::max(largest_small, std::get<2>(key));
    longest = std::max(longest, latency->second);
  }
  if (small < threshold::least_calls || small * 2 < all) return;
  Finding f;
  f.id = "bucket_too_small";
  f.what = msg::found_small_messages();
  f.evidence.push_back(msg::calls_in_latency(small, all, Bytes{largest_small}, longest));
  f.advice = msg::send_larger_messages();
  list.add_replayed(std::move(f), gain);
}

void find_congestion(FindingList& list) {
  double lost = 0;
  Message worst;
  double worst_ratio = 0;
  for (const auto& [key, group] : transfers_of(list.job().collectives)) {
    if (group.times.size() < threshold::least_calls) continue;
    const double median = median_of(group);
    const double tail = group.times[group.times.size() * 9 / 10];
    if (median <= 0 || tail < threshold::congestion_spread * median) continue;
    for (const double t : group.times) lost += std::max(0.0, t - median);
    if (tail / median <= worst_ratio) continue;
    worst_ratio = tail / median;
    worst = msg::spread_of_calls(kind_name(std::get<0>(key)), Bytes{std::get<2>(key)},
                                 Nanoseconds(median), Nanoseconds(tail));
  }
  std::size_t steps = 0;  // of all ranks, as `lost`
  for (const RankResult& r : list.job().ranks) steps += r.steps.size();
  if (worst.empty() || steps == 0) return;
  Finding f;
  f.id = "congestion";
  f.sort = FindingSort::fault;
  f.what = msg::found_congestion();
  f.evidence.push_back(worst);
  f.advice = msg::look_for_other_jobs();
  f.confidence = Confidence::low;
  const WhatIf* free = list.what_if("communication_free");
  const Ns above{static_cast<std::int64_t>(lost / static_cast<double>(steps))};
  list.add_bounded(std::move(f), std::min(above, free == nullptr ? Ns{0} : most_saved(*free)),
                   msg::by_median_transfers());
}

Ns whole_ns(double s) { return Ns{std::llround(s * 1e9)}; }

// Whether its bytes and not its latency are what it should take.
bool rate_bound(const Network& network, const ExpectedCollective& e) {
  const double empty = collective_time(network, e.row->kind, Bytes{1}, e.group).count();
  return e.expected >= threshold::rate_bound_from * empty * static_cast<double>(e.calls);
}

// By group: what the machine's links would take for these bytes. Calls whose transfer cannot be
// told from waiting say nothing of a link.
void find_slow_links(FindingList& list) {
  const FindingContext& context = list.context();
  if (context.machine == nullptr) return;
  const auto network = make_network(*context.machine);
  if (!network) return;
  struct Slow {
    std::vector<const ExpectedCollective*> rows;  // largest gap first
    double lost = 0;                              // seconds, exposed
    double measured = 0;
    double expected = 0;
  };
  std::map<std::string, Slow> groups;
  const auto expected = expected_collectives(list.job().collectives, *network, context.world_size);
  for (const ExpectedCollective& e : expected) {
    if (e.with_wait || !rate_bound(*network, e)) continue;
    Slow& slow = groups[e.row->group];
    slow.rows.push_back(&e);
    slow.measured += e.measured;
    slow.expected += e.expected;
    slow.lost += std::max(0.0, seconds(e.row->exposed).count() * (1 - e.expected / e.measured));
  }
  // Siblings that are all slow are one finding.
  std::map<std::string, std::vector<const Slow*>> alike;
  for (const auto& [name, slow] : groups)
    if (slow.expected < threshold::slow_link_share * slow.measured) {
      const Dimension dimension = slow.rows.front()->row->dimension;
      alike[dimension == Dimension::unknown
                ? name
                : std::string(dimension_names[static_cast<std::size_t>(dimension)])]
          .push_back(&slow);
    }
  for (const auto& [name, slow_ones] : alike) {
    const Slow& slow = **std::ranges::max_element(slow_ones, {}, &Slow::lost);
    const bool several = slow_ones.size() > 1;
    Finding f;
    f.id = "slow_link";
    f.sort = FindingSort::fault;
    f.key = fmt::format("slow_link:{}", several ? name : slow.rows.front()->row->group);
    f.what =
        msg::found_slow_link(several ? msg::several_groups(slow_ones.size(), name)
                                     : msg::one_group(printable(slow.rows.front()->row->group)),
                             Digits{slow.measured / slow.expected}, context.machine->name);
    for (const ExpectedCollective* e : slow.rows) {
      if (f.evidence.size() == 3) break;
      const double calls = static_cast<double>(e->calls);
      f.evidence.push_back(msg::call_beside_machine(
          kind_name(e->row->kind), e->row->bytes, whole_ns(e->measured / calls),
          whole_ns(e->expected / calls), context.machine->name));
    }
    f.advice = msg::check_transport();
    const WhatIf* free = list.what_if("communication_free");
    const Ns lost = whole_ns(slow.lost / static_cast<double>(most_steps(list.job())));
    list.add_bounded(std::move(f), std::min(lost, free == nullptr ? Ns{0} : most_saved(*free)),
                     msg::by_links());
  }
}

void find_imbalance(FindingList& list) {
  if (list.has_fault("stage_imbalance")) return;
  const auto busiest = busiest_stage(list.job());
  if (busiest && busiest->more < threshold::uneven_stages) return;
  Finding f;
  f.id = "stage_imbalance";
  f.sort = replay_tells(list.job()) ? FindingSort::opportunity : FindingSort::fault;
  f.what = busiest ? msg::found_stage_imbalance(busiest->stage, Percent{busiest->more})
                   : msg::found_stage_imbalance(Value(), Value());
  if (busiest) f.evidence = busiest->evidence;
  f.advice = msg::move_layers_off_slowest();
  list.add_replayed(std::move(f), list.what_if("stages_balanced"));
}

}  // namespace

void find_communication(FindingList& list) {
  find_exposed(list);
  if (!find_bucket_size(list)) find_small_messages(list);
  find_congestion(list);
  find_slow_links(list);
  find_imbalance(list);
}

// Gradients in messages of another size.

bool find_bucket_size(FindingList& list) {
  if (!list.job().explanation || !list.job().explanation->buckets) return false;
  const BucketSearch& search = *list.job().explanation->buckets;
  const Bytes best = search.best.scenario.size.value_or(Bytes{});
  const bool larger = best > search.usual;
  Finding f;
  f.id = larger ? "bucket_too_small" : "bucket_too_large";
  f.what = larger ? msg::found_small_buckets() : msg::found_large_buckets();
  f.evidence.push_back(msg::usual_size(collective_kind_names[static_cast<std::size_t>(search.kind)],
                                       search.usual, search.before));
  f.evidence.push_back(msg::best_size(best, search.after));
  for (const std::string& note : search.best.notes) f.evidence.push_back(msg::plain(note));
  f.advice = msg::choose_bucket(larger, best);
  f.place = list.place_on_path(collective_kind_names[static_cast<std::size_t>(search.kind)]);
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
  if (best == nullptr || job.units.empty() || job.units.front().late_time <= Ns{0}) return;
  const UnitRow& worst = job.units.front();
  Finding f;
  f.id = "prefetch_miss";
  f.sort = FindingSort::fault;
  f.what = msg::found_late_fetches(Digits{best->scenario.factor});
  f.evidence.push_back(fetches_in_words(job));
  const UnitFetch& fetch = worst.worst.fetch;
  f.evidence.push_back(msg::worst_fetch(worst.unit,
                                        unit_pass_names[static_cast<std::size_t>(worst.pass)],
                                        fetch.late(), fetch.transfer));
  if (const auto ahead = recorded_prefetch(job.unit_waits))
    f.evidence.push_back(msg::usual_fetches(*ahead));
  f.place = FindingPlace{worst.worst.rank, fetch.needed, fetch.late()};
  f.advice = msg::prefetch_costs(advice_for(unit_source(job), best->scenario.factor));
  list.add_replayed(std::move(f), best);
}

}  // namespace stepscope
