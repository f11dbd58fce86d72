// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/checklists.h"

#include <algorithm>
#include <initializer_list>

#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/diagnose/judged_transfers.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/fit/collective_link.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

constexpr std::array exposed_parts = {comm_exposed_wait, comm_exposed_transfer,
                                      comm_exposed_unsplit};
constexpr std::array waiting_parts = {comm_exposed_wait};
constexpr std::array communication_parts = {comm_overlapped, comm_exposed_wait,
                                            comm_exposed_transfer, comm_exposed_unsplit};
constexpr std::array host_parts = {idle_host, idle_launch};
constexpr std::array launch_parts = {idle_launch};
constexpr std::array data_parts = {idle_data};
constexpr std::array unsplit_parts = {comm_exposed_unsplit};
constexpr std::array unrecorded_parts = {not_recorded};
constexpr std::array unknown_parts = {idle_unexplained, not_recorded};
constexpr std::array gap_parts = {idle_host, idle_sync, idle_launch, idle_dependency,
                                  idle_unexplained};
constexpr std::array copy_parts = {copy_exposed};

ChecklistLine unknown(std::string_view name, Message why) {
  return {.name = name, .result = ChecklistResult::unknown, .evidence = std::move(why)};
}

ChecklistLine judged(std::string_view name, bool fine, Message evidence) {
  return {.name = name,
          .result = fine ? ChecklistResult::fine : ChecklistResult::look,
          .evidence = std::move(evidence)};
}

Message in_words(const Finding& f) {
  return msg::clauses(f.evidence.empty() ? Messages{f.what} : Messages{f.what, f.evidence.front()});
}

// The first finding of these, as a line to look at.
std::optional<ChecklistLine> found(const ChecklistInput& in, std::string_view name,
                                   std::initializer_list<std::string_view> ids) {
  for (const Finding& f : in.findings)
    if (std::ranges::find(ids, f.id) != ids.end()) return judged(name, false, in_words(f));
  return std::nullopt;
}

Message lacking_device(const ChecklistInput& in) {
  return in.no_device.empty() ? in.lacking : in.no_device;
}

// Why a check of kernels has no answer; nothing if the traces have kernels of a GPU.
Message no_kernels(const ChecklistInput& in) {
  if (in.job == nullptr) return lacking_device(in);
  const auto any = [&](auto has) { return std::ranges::any_of(in.job->ranks, has); };
  if (any([](const RankResult& r) {
        return !r.device.is_cpu() && !r.work.kernels.kernels.empty();
      }))
    return {};
  return any([](const RankResult& r) { return r.recording.device_unseen(); })
             ? msg::kernels_not_recorded()
             : msg::no_kernel();
}

// The message that the ranks have no matrix products; empty if they have some.
Message no_products(const ChecklistInput& in) {
  if (Message why = no_kernels(in); !why.empty()) return why;
  const auto is_product = [](const KernelRow& k) {
    return k.kind == NameClass::matmul || k.kind == NameClass::attention;
  };
  for (const RankResult& r : in.job->ranks)
    if (std::ranges::any_of(r.work.kernels.kernels, is_product)) return {};
  return msg::no_product();
}

// Findings come from the replay. Without it their absence says nothing.
Message no_replay(const ChecklistInput& in) {
  return in.job->explanation ? Message() : msg::no_replay();
}

double part(double some, double all) { return all > 0 ? some / all : 0; }

ChecklistLine batch_size(const ChecklistInput& in) {
  constexpr std::string_view name = "batch_size";
  if (Message why = no_products(in); !why.empty()) return unknown(name, std::move(why));
  if (auto line = found(in, name, {"launch_bound", "small_matmuls"})) return *line;
  double all = 0;
  double small = 0;
  for (const RankResult& r : in.job->ranks)
    for (const KernelRow& k : r.work.kernels.kernels) {
      if (k.kind != NameClass::matmul) continue;
      all += static_cast<double>(k.total.count());
      if (k.mean() < threshold::short_product) small += static_cast<double>(k.total.count());
    }
  const double launches = budget_share(in.facts.ranks, launch_parts).value_or(0);
  return judged(
      name, part(small, all) < threshold::many_short_products && launches <= threshold::much_idle,
      msg::short_products_and_launches(threshold::short_product, Percent{part(small, all)},
                                       Percent{launches}));
}

ChecklistLine memory_bandwidth(const ChecklistInput& in) {
  constexpr std::string_view name = "memory_bandwidth";
  if (Message why = no_kernels(in); !why.empty()) return unknown(name, std::move(why));
  if (auto line = found(in, name, {"memory_bound"})) return *line;
  constexpr std::array bound = {NameClass::elementwise, NameClass::norm, NameClass::softmax,
                                NameClass::reduction};
  double all = 0;
  double some = 0;
  for (const RankResult& r : in.job->ranks)
    for (const KernelRow& k : r.work.kernels.kernels) {
      all += static_cast<double>(k.total.count());
      if (std::ranges::find(bound, k.kind) != bound.end())
        some += static_cast<double>(k.total.count());
    }
  return judged(name, part(some, all) <= threshold::much_memory_bound,
                msg::memory_bound_kernels(Percent{part(some, all)}));
}

// Share of product time whose kernels are known to use (or not to use) tensor cores.
ChecklistLine tensor_cores(const ChecklistInput& in) {
  constexpr std::string_view name = "tensor_cores";
  if (Message why = no_products(in); !why.empty()) return unknown(name, std::move(why));
  if (auto line = found(in, name, {"tensor_cores_unused"})) return *line;
  double with = 0;
  double known = 0;
  for (const RankResult& r : in.job->ranks)
    for (const KernelRow& k : r.work.kernels.kernels) {
      if (!k.tensor_core) continue;
      known += static_cast<double>(k.total.count());
      if (*k.tensor_core) with += static_cast<double>(k.total.count());
    }
  if (known <= 0) return unknown(name, msg::tensor_cores_unknown());
  return judged(name, with >= (1 - threshold::many_slow_formats) * known,
                msg::tensor_cores_used(Percent{with / known}));
}

// The share of the time of matrix products on devices whose operands are of single precision.
double share_of_single(const JobResult& job) {
  Ns single{};
  Ns all{};
  for (const RankResult& r : job.ranks)
    for (const OperatorRow& row : r.work.operators) {
      if (row.kind != NameClass::matmul || r.device.is_cpu()) continue;
      all += row.device;
      if (row.precision == OperandFormat::fp32) single += row.device;
    }
  return share_of_time(single, all);
}

ChecklistLine mixed_precision(const ChecklistInput& in) {
  constexpr std::string_view name = "mixed_precision";
  if (Message why = no_products(in); !why.empty()) return unknown(name, std::move(why));
  if (auto line = found(in, name, {"fp32_matmuls"})) return *line;
  if (Message why = no_replay(in); !why.empty()) return unknown(name, std::move(why));
  if (!has(recorded_facts(*in.job), Fact::shapes))
    return unknown(name, msg::formats_not_recorded());
  const double single = share_of_single(*in.job);
  return judged(name, single <= threshold::many_slow_formats,
                msg::single_products_take(Percent{single}));
}

// A share of the step in the budget of every rank.
struct ShareCheck {
  std::string_view name;
  std::span<const BudgetCategory> parts;
  double much;
  MessageMaker<1> what;
  std::span<const BudgetCategory> hidden;  // time that may be of these parts too, and why
  MessageMaker<1> why;
};

ChecklistLine share_check(const ChecklistInput& in, const ShareCheck& check,
                          std::initializer_list<std::string_view> ids) {
  if (auto line = found(in, check.name, ids)) return *line;
  const auto share = budget_share(in.facts.ranks, check.parts);
  if (!share) return unknown(check.name, in.lacking);
  const double hidden = *budget_share(in.facts.ranks, check.hidden);
  if (*share <= check.much && *share + hidden > check.much)
    return unknown(check.name, check.why(Percent{hidden}));
  return judged(check.name, *share <= check.much, check.what(Percent{*share}));
}

Checklist low_mfu(const ChecklistInput& in) {
  return {.name = "low_mfu",
          .title = msg::title_low_mfu(),
          .lines = {mixed_precision(in), tensor_cores(in), batch_size(in), memory_bandwidth(in),
                    share_check(in,
                                {"python_overhead", host_parts, threshold::much_idle,
                                 msg::waits_for_host, unknown_parts, msg::rest_unknown},
                                {"gil_contention", "garbage_collection", "launch_bound"}),
                    share_check(in,
                                {"data_loading", data_parts, threshold::much_data,
                                 msg::waits_for_loader, unknown_parts, msg::rest_unknown},
                                {"data_loader"})}};
}

// Why a check of collectives has no answer; nothing if the traces have collectives.
Message no_collectives(const ChecklistInput& in) {
  if (in.job == nullptr) return in.lacking;
  return in.job->collectives.rows.empty() ? msg::no_collective() : Message();
}

ChecklistLine bandwidth(const ChecklistInput& in) {
  constexpr std::string_view name = "bandwidth";
  if (Message why = no_collectives(in); !why.empty()) return unknown(name, std::move(why));
  if (auto line = found(in, name, {"slow_link", "slow_group"})) return *line;
  if (Message why = no_replay(in); !why.empty()) return unknown(name, std::move(why));
  if (in.machine == nullptr) return unknown(name, msg::links_unknown());
  const auto transfers = judged_transfers(in.job->collectives, *in.machine, in.world_size);
  const auto slowest = std::ranges::max_element(transfers, {}, &ExpectedCollective::ratio);
  if (slowest == transfers.end()) return unknown(name, msg::no_transfer_and_link());
  if (slowest->ratio() * most_link_share < 1) return unknown(name, msg::places_unsure());
  return judged(
      name, true,
      msg::slowest_of_link(collective_kind_names[static_cast<std::size_t>(slowest->row->kind)],
                           slowest->row->bytes, Percent{1 / slowest->ratio()},
                           Percent{threshold::slow_link_share}, Percent{threshold::least_gain}));
}

ChecklistLine congestion(const ChecklistInput& in) {
  constexpr std::string_view name = "congestion";
  if (Message why = no_collectives(in); !why.empty()) return unknown(name, std::move(why));
  if (auto line = found(in, name, {"congestion"})) return *line;
  if (Message why = no_replay(in); !why.empty()) return unknown(name, std::move(why));
  const bool enough = std::ranges::any_of(in.job->collectives.rows, [](const CollectiveRow& r) {
    return r.split >= threshold::least_calls;
  });
  if (!enough) return unknown(name, msg::few_calls(threshold::least_calls));
  return judged(
      name, true,
      msg::no_slow_tenth(Digits{threshold::congestion_spread}, Percent{threshold::least_gain}));
}

ChecklistLine algorithm(const ChecklistInput& in) {
  constexpr std::string_view name = "algorithm";
  if (Message why = no_collectives(in); !why.empty()) return unknown(name, std::move(why));
  if (auto line = found(in, name, {"algorithm_not_best"})) return *line;
  if (Message why = no_replay(in); !why.empty()) return unknown(name, std::move(why));
  if (Message why = no_kernels(in); !why.empty()) return unknown(name, std::move(why));
  if (in.job->traffic.algorithms.empty()) return unknown(name, msg::no_named_algorithm());
  if (in.machine == nullptr) return unknown(name, msg::links_unknown());
  return judged(name, true, msg::no_slower_algorithm(Digits{threshold::slower_algorithm}));
}

ChecklistLine balance(const ChecklistInput& in, std::string_view name) {
  if (auto line = found(in, name,
                        {"slow_rank", "late_host", "sequence_imbalance", "uneven_compute",
                         "stage_imbalance", "throttling"}))
    return *line;
  const auto most = rank_balance(in.facts.ranks);
  if (!most) return unknown(name, in.job == nullptr ? in.lacking : msg::no_equal_ranks());
  return judged(name, most->excess <= threshold::much_imbalance,
                msg::computes_more(most->rank, Percent{most->excess}));
}

// Whether any rank communicates; without it there is nothing to overlap.
bool communicates(const ChecklistInput& in) {
  return budget_share(in.facts.ranks, communication_parts).value_or(0) > 0;
}

ChecklistLine overlap_check(const ChecklistInput& in, std::string_view name) {
  auto line = found(in, name, {"exposed_communication"});
  const auto exposed = budget_share(in.facts.ranks, exposed_parts);
  if (!exposed || !communicates(in))
    return line ? *line : unknown(name, exposed ? msg::no_communication() : in.lacking);
  const double all = *budget_share(in.facts.ranks, communication_parts);
  Message shares = msg::hidden_and_exposed(Percent{1 - *exposed / all}, Percent{*exposed});
  if (!line) return judged(name, *exposed <= threshold::much_exposed, std::move(shares));
  line->evidence = msg::clauses(Messages{std::move(line->evidence), std::move(shares)});
  return *line;
}

ChecklistLine bucket_size(const ChecklistInput& in) {
  constexpr std::string_view name = "bucket_size";
  if (Message why = no_collectives(in); !why.empty()) return unknown(name, std::move(why));
  if (auto line = found(in, name, {"bucket_too_small", "bucket_too_large"})) return *line;
  if (Message why = no_replay(in); !why.empty()) return unknown(name, std::move(why));
  const bool any =
      std::ranges::any_of(in.job->traffic.buckets, [](const auto& b) { return !b.empty(); });
  if (!any) return unknown(name, msg::no_bucket());
  return judged(name, true, msg::no_better_bucket(Percent{threshold::least_gain}));
}

Checklist communication(const ChecklistInput& in) {
  return {.name = "communication",
          .title = msg::title_communication(),
          .lines = {bandwidth(in), congestion(in), algorithm(in), balance(in, "balanced_work"),
                    overlap_check(in, "overlap"), bucket_size(in)}};
}

struct FullestDevice {
  const RankResult* rank = nullptr;
  const DeviceMemory* memory = nullptr;
};

FullestDevice fullest(const ChecklistInput& in) {
  FullestDevice out;
  if (in.job == nullptr) return out;
  for (const RankResult& r : in.job->ranks)
    for (const DeviceMemory& d : r.memory.devices)
      if (d.device >= 0 && (out.memory == nullptr || d.peak_allocated > out.memory->peak_allocated))
        out = {&r, &d};
  return out;
}

Message no_memory(const ChecklistInput& in) {
  return in.job == nullptr ? lacking_device(in) : msg::no_allocation();
}

double bytes_of(Bytes b) { return static_cast<double>(b.value); }

// The line of a device whose reserved memory is recorded.
ChecklistLine fragmentation(const RankResult& rank, const DeviceMemory& device) {
  const double reserved = bytes_of(*device.peak_reserved);
  const double unused = std::max(0.0, 1 - bytes_of(device.peak_allocated) / reserved);
  const bool little =
      rank.device.memory && reserved < threshold::much_reserved * bytes_of(*rank.device.memory);
  return judged("fragmentation", little || unused < threshold::reserved_unused,
                msg::reserved_unused(Percent{unused}));
}

Checklist memory(const ChecklistInput& in) {
  const auto [rank, device] = fullest(in);
  Checklist out{.name = "memory", .title = msg::title_memory(), .lines = {}};
  if (device == nullptr) {
    out.lines = {unknown("peak", no_memory(in)), unknown("fragmentation", no_memory(in))};
  } else {
    out.lines.push_back(
        judged("peak", true,
               msg::allocates_most(rank->rank, device->peak_allocated, device->peak_reserved)));
    if (auto line = found(in, "fragmentation", {"fragmentation"}))
      out.lines.push_back(*line);
    else if (!device->peak_reserved || device->peak_reserved->value <= 0)
      out.lines.push_back(unknown("fragmentation", msg::reserved_unknown()));
    else
      out.lines.push_back(fragmentation(*rank, *device));
  }
  if (auto line = found(in, "limit", {"memory_near_limit", "allocation_retries"})) {
    out.lines.push_back(*line);
    return out;
  }
  std::optional<double> left;
  if (in.memory_share)
    left = 1 - *in.memory_share;
  else if (in.facts.headroom && in.facts.capacity && in.facts.capacity->value > 0)
    left = bytes_of(*in.facts.headroom) / bytes_of(*in.facts.capacity);
  if (!left)
    out.lines.push_back(
        unknown("limit", device == nullptr ? no_memory(in) : msg::capacity_unknown()));
  else
    out.lines.push_back(
        judged("limit", *left >= threshold::little_headroom, msg::stays_free(Percent{*left})));
  return out;
}

ChecklistLine copies(const ChecklistInput& in) {
  if (Message why = no_kernels(in); !why.empty()) return unknown("copies", std::move(why));
  return share_check(in,
                     {"copies", copy_parts, threshold::least_gain, msg::waits_for_copies,
                      unrecorded_parts, msg::rest_unknown},
                     {"exposed_copies"});
}

// Patterns of a timeline: gaps, communication behind nothing, long tails, copies.
Checklist timeline(const ChecklistInput& in) {
  ChecklistLine tails =
      communicates(in) ? share_check(in,
                                     {"collective_tails", waiting_parts, threshold::much_exposed,
                                      msg::waits_for_peers, unsplit_parts, msg::waiting_unknown},
                                     {"congestion"})
                       : unknown("collective_tails",
                                 in.facts.ranks.empty() ? in.lacking : msg::no_communication());
  return {.name = "timeline",
          .title = msg::title_timeline(),
          .lines = {share_check(in,
                                {"gaps", gap_parts, threshold::much_idle, msg::is_gaps,
                                 unrecorded_parts, msg::rest_unknown},
                                {"launch_bound", "sync_calls", "unseen_host", "pauses"}),
                    overlap_check(in, "sequential_communication"), std::move(tails), copies(in)}};
}

Checklist stragglers(const ChecklistInput& in) {
  constexpr std::string_view name = "late_ranks";
  Checklist out{.name = "stragglers", .title = msg::title_stragglers(), .lines = {}};
  if (!in.late.empty())
    out.lines.push_back(judged(name, false, msg::clauses(in.late)));
  else if (in.facts.arrivals_known)
    out.lines.push_back(judged(name, true, msg::no_rank_stands_out()));
  else if (in.times_compared)
    out.lines.push_back(judged(name, true, msg::no_rank_stands_out_by_times()));
  else
    out.lines.push_back(unknown(name, in.facts.why_arrivals_unknown.empty()
                                          ? msg::arrivals_unknown()
                                          : msg::plain(in.facts.why_arrivals_unknown)));
  out.lines.push_back(balance(in, "rank_work"));
  return out;
}

}  // namespace

std::vector<Checklist> checklists(const ChecklistInput& in) {
  return {low_mfu(in), communication(in), memory(in), timeline(in), stragglers(in)};
}

}  // namespace stepscope
