// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/checklists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "stepscope/analysis/runs/recorded_facts.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/fit/collective_link.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

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
constexpr std::array gap_parts = {idle_host, idle_sync, idle_launch, idle_dependency,
                                  idle_unexplained};
constexpr std::array copy_parts = {copy_exposed};

ChecklistLine unknown(std::string_view name, std::string why) {
  return {.name = name, .result = ChecklistResult::unknown, .evidence = std::move(why)};
}

ChecklistLine judged(std::string_view name, bool fine, std::string evidence) {
  return {.name = name,
          .result = fine ? ChecklistResult::fine : ChecklistResult::look,
          .evidence = std::move(evidence)};
}

std::string in_words(const Finding& f) {
  std::string text = f.what;
  while (text.ends_with('.')) text.pop_back();
  if (!f.evidence.empty()) text += "; " + f.evidence.front();
  return text;
}

// The first finding of these, as a line to look at.
std::optional<ChecklistLine> found(const ChecklistInput& in, std::string_view name,
                                   std::initializer_list<std::string_view> ids) {
  for (const Finding& f : in.findings)
    if (std::ranges::find(ids, f.id) != ids.end()) return judged(name, false, in_words(f));
  return std::nullopt;
}

std::string lacking_device(const ChecklistInput& in) {
  return std::string(in.no_device.empty() ? in.lacking : in.no_device);
}

// Why a check of kernels has no answer; absent if the traces have kernels of a GPU.
std::optional<std::string> no_kernels(const ChecklistInput& in) {
  if (in.job == nullptr) return lacking_device(in);
  const auto any = [&](auto has) { return std::ranges::any_of(in.job->ranks, has); };
  if (any([](const RankResult& r) { return r.device != "cpu" && !r.kernels.kernels.empty(); }))
    return std::nullopt;
  if (any([](const RankResult& r) { return r.recording.device_unseen(); }))
    return "kernels were launched and none is recorded: record with ProfilerActivity.CUDA";
  return "no kernel of a GPU is recorded: the ranks compute on CPUs, or the trace lacks "
         "ProfilerActivity.CUDA";
}

// Likewise of matrix products.
std::optional<std::string> no_products(const ChecklistInput& in) {
  if (auto why = no_kernels(in)) return why;
  const auto is_product = [](const KernelRow& k) {
    return k.kind == NameClass::matmul || k.kind == NameClass::attention;
  };
  for (const RankResult& r : in.job->ranks)
    if (std::ranges::any_of(r.kernels.kernels, is_product)) return std::nullopt;
  return "no kernel of a matrix product is recorded: record whole steps";
}

// Findings come from the replay. Without it their absence says nothing.
std::optional<std::string> no_replay(const ChecklistInput& in) {
  if (in.job->explanation) return std::nullopt;
  return "the steps could not be replayed: record whole steps of every rank";
}

double part(double some, double all) { return all > 0 ? some / all : 0; }

ChecklistLine batch_size(const ChecklistInput& in) {
  constexpr std::string_view name = "batch_size";
  if (auto why = no_products(in)) return unknown(name, std::move(*why));
  if (auto line = found(in, name, {"launch_bound", "small_matmuls"})) return *line;
  double all = 0;
  double small = 0;
  for (const RankResult& r : in.job->ranks)
    for (const KernelRow& k : r.kernels.kernels) {
      if (k.kind != NameClass::matmul) continue;
      all += static_cast<double>(k.total.count());
      if (k.mean() < threshold::short_product) small += static_cast<double>(k.total.count());
    }
  const double launches = budget_share(in.facts.ranks, launch_parts).value_or(0);
  return judged(
      name, part(small, all) < threshold::many_short_products && launches <= threshold::much_idle,
      fmt::format("matrix products shorter than {} take {} of the time of all, and {} of "
                  "the step waits for launches",
                  format_time(threshold::short_product), format_percent(part(small, all)),
                  format_percent(launches)));
}

ChecklistLine memory_bandwidth(const ChecklistInput& in) {
  constexpr std::string_view name = "memory_bandwidth";
  if (auto why = no_kernels(in)) return unknown(name, std::move(*why));
  if (auto line = found(in, name, {"memory_bound"})) return *line;
  constexpr std::array bound = {NameClass::elementwise, NameClass::norm, NameClass::softmax,
                                NameClass::reduction};
  double all = 0;
  double some = 0;
  for (const RankResult& r : in.job->ranks)
    for (const KernelRow& k : r.kernels.kernels) {
      all += static_cast<double>(k.total.count());
      if (std::ranges::find(bound, k.kind) != bound.end())
        some += static_cast<double>(k.total.count());
    }
  return judged(name, part(some, all) <= threshold::much_memory_bound,
                fmt::format("kernels that memory bounds (elementwise, norms, softmax, reductions) "
                            "take {} of the kernels' time",
                            format_percent(part(some, all))));
}

// Share of product time whose kernels are known to use (or not to use) tensor cores.
ChecklistLine tensor_cores(const ChecklistInput& in) {
  constexpr std::string_view name = "tensor_cores";
  if (auto why = no_products(in)) return unknown(name, std::move(*why));
  if (auto line = found(in, name, {"tensor_cores_unused"})) return *line;
  double with = 0;
  double known = 0;
  for (const RankResult& r : in.job->ranks)
    for (const KernelRow& k : r.kernels.kernels) {
      if (!k.tensor_core) continue;
      known += static_cast<double>(k.total.count());
      if (*k.tensor_core) with += static_cast<double>(k.total.count());
    }
  if (known <= 0)
    return unknown(name,
                   "no product's kernel name tells it: Nsight Compute's counters of the tensor "
                   "cores do");
  return judged(name, with >= (1 - threshold::many_slow_formats) * known,
                fmt::format("kernels that use tensor cores take {} of the products' time",
                            format_percent(with / known)));
}

ChecklistLine mixed_precision(const ChecklistInput& in) {
  constexpr std::string_view name = "mixed_precision";
  if (auto why = no_products(in)) return unknown(name, std::move(*why));
  if (auto line = found(in, name, {"fp32_matmuls"})) return *line;
  if (auto why = no_replay(in)) return unknown(name, std::move(*why));
  if (!has(recorded_facts(*in.job), Fact::shapes))
    return unknown(name, "the number formats of operands are not recorded: record_shapes=True");
  return judged(name, true,
                fmt::format("products of single precision take less than {} of the products' time, "
                            "or a faster format would give back less than {} of a step",
                            format_percent(threshold::many_slow_formats),
                            format_percent(threshold::least_gain)));
}

// A share of the step in the budget of every rank.
ChecklistLine share_check(const ChecklistInput& in, std::string_view name,
                          std::span<const BudgetCategory> parts, double much, std::string_view what,
                          std::initializer_list<std::string_view> ids) {
  if (auto line = found(in, name, ids)) return *line;
  const auto share = budget_share(in.facts.ranks, parts);
  if (!share) return unknown(name, std::string(in.lacking));
  return judged(name, *share <= much,
                fmt::format("{} of the step {}", format_percent(*share), what));
}

Checklist low_mfu(const ChecklistInput& in) {
  return {.name = "low_mfu",
          .title = "Low MFU",
          .lines = {mixed_precision(in), tensor_cores(in), batch_size(in), memory_bandwidth(in),
                    share_check(in, "python_overhead", host_parts, threshold::much_idle,
                                "waits for the host's own work",
                                {"gil_contention", "garbage_collection", "launch_bound"}),
                    share_check(in, "data_loading", data_parts, threshold::much_data,
                                "waits for the data loader", {"data_loader"})}};
}

// Why a check of collectives has no answer; absent if the traces have collectives.
std::optional<std::string> no_collectives(const ChecklistInput& in) {
  if (in.job == nullptr) return std::string(in.lacking);
  if (!in.job->collectives.rows.empty()) return std::nullopt;
  return "no collective is recorded: record every rank of a job of several ranks";
}

ChecklistLine bandwidth(const ChecklistInput& in) {
  constexpr std::string_view name = "bandwidth";
  if (auto why = no_collectives(in)) return unknown(name, std::move(*why));
  if (auto line = found(in, name, {"slow_link", "slow_group"})) return *line;
  if (auto why = no_replay(in)) return unknown(name, std::move(*why));
  if (in.machine == nullptr)
    return unknown(name, "the links of the machine are not known: give --machine NAME");
  const CollectiveRow* slowest = nullptr;
  double least = 0;
  for (const CollectiveRow& row : in.job->collectives.rows) {
    const auto share =
        link_share(*in.machine, row, in.job->collectives.matches.groups, in.world_size);
    if (!share || *share > most_link_share) continue;
    if (slowest == nullptr || *share < least) {
      slowest = &row;
      least = *share;
    }
  }
  if (slowest == nullptr)
    return unknown(name,
                   "no collective has both a transfer time and a known link: record every rank "
                   "of its group");
  const std::string size =
      slowest->bytes ? " of " + format_bytes(static_cast<double>(slowest->bytes->value)) : "";
  return judged(name, true,
                fmt::format("the slowest, {}{}, moves {} of what its link allows; a collective is "
                            "named below {} where bytes and not latency take its time",
                            collective_kind_names[static_cast<std::size_t>(slowest->kind)], size,
                            format_percent(least), format_percent(threshold::slow_link_share)));
}

ChecklistLine congestion(const ChecklistInput& in) {
  constexpr std::string_view name = "congestion";
  if (auto why = no_collectives(in)) return unknown(name, std::move(*why));
  if (auto line = found(in, name, {"congestion"})) return *line;
  if (auto why = no_replay(in)) return unknown(name, std::move(*why));
  const bool enough = std::ranges::any_of(in.job->collectives.rows, [](const CollectiveRow& r) {
    return r.split >= threshold::least_calls;
  });
  if (!enough)
    return unknown(name, fmt::format("no collective has {} calls of one size whose transfer is "
                                     "known: record more steps of every rank",
                                     threshold::least_calls));
  return judged(name, true,
                fmt::format("the slowest tenth of equal collectives takes less than {:g} times "
                            "their median, or that costs less than {} of a step",
                            threshold::congestion_spread, format_percent(threshold::least_gain)));
}

ChecklistLine algorithm(const ChecklistInput& in) {
  constexpr std::string_view name = "algorithm";
  constexpr std::string_view ask =
      "NCCL's log tells it: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING, then stepscope hang LOG";
  if (auto why = no_collectives(in)) return unknown(name, std::move(*why));
  if (auto line = found(in, name, {"algorithm_not_best"})) return *line;
  if (auto why = no_replay(in)) return unknown(name, std::move(*why));
  if (auto why = no_kernels(in)) return unknown(name, std::move(*why));
  if (in.job->algorithms.empty())
    return unknown(name, fmt::format("no kernel's name tells the algorithm; {}", ask));
  if (in.machine == nullptr)
    return unknown(name, "the links of the machine are not known: give --machine NAME");
  return judged(name, true,
                fmt::format("no all-reduce whose kernel names tell the algorithm takes {:g} times "
                            "that of another one",
                            threshold::slower_algorithm));
}

ChecklistLine balance(const ChecklistInput& in, std::string_view name) {
  if (auto line =
          found(in, name,
                {"slow_rank", "late_host", "sequence_imbalance", "stage_imbalance", "throttling"}))
    return *line;
  const auto most = rank_balance(in.facts.ranks);
  if (!most)
    return unknown(name, in.job == nullptr
                             ? std::string(in.lacking)
                             : "the computing time of two ranks of one role is not recorded: "
                               "record every rank");
  return judged(name, most->excess <= threshold::much_imbalance,
                fmt::format("rank {} computes {} more than the median of its role", most->rank,
                            format_percent(most->excess)));
}

// Whether any rank communicates; without it there is nothing to overlap.
bool communicates(const ChecklistInput& in) {
  return budget_share(in.facts.ranks, communication_parts).value_or(0) > 0;
}

ChecklistLine overlap_check(const ChecklistInput& in, std::string_view name) {
  if (auto line = found(in, name, {"exposed_communication"})) return *line;
  const auto exposed = budget_share(in.facts.ranks, exposed_parts);
  if (!exposed) return unknown(name, std::string(in.lacking));
  if (!communicates(in))
    return unknown(name,
                   "no communication is recorded: record every rank of a job of several "
                   "ranks");
  const double all = *budget_share(in.facts.ranks, communication_parts);
  return judged(name, *exposed <= threshold::much_exposed,
                fmt::format("{} of the communication is behind computation, and {} of the step is "
                            "exposed communication",
                            format_percent(1 - *exposed / all), format_percent(*exposed)));
}

ChecklistLine bucket_size(const ChecklistInput& in) {
  constexpr std::string_view name = "bucket_size";
  if (auto why = no_collectives(in)) return unknown(name, std::move(*why));
  if (auto line = found(in, name, {"bucket_too_small", "bucket_too_large"})) return *line;
  if (auto why = no_replay(in)) return unknown(name, std::move(*why));
  const bool any =
      std::ranges::any_of(in.job->ddp_buckets, [](const auto& b) { return !b.empty(); });
  if (!any)
    return unknown(name,
                   "no bucket of DDP is recorded: its all-reduce is launched within a row "
                   "AccumulateGrad");
  return judged(name, true,
                fmt::format("no tried bucket size is known to give back {} of a step",
                            format_percent(threshold::least_gain)));
}

Checklist communication(const ChecklistInput& in) {
  return {.name = "communication",
          .title = "Slow communication",
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

std::string no_memory(const ChecklistInput& in) {
  return in.job == nullptr ? lacking_device(in)
                           : "no allocation on a GPU is recorded: profile_memory=True, or a "
                             "snapshot for stepscope memory";
}

double bytes_of(Bytes b) { return static_cast<double>(b.value); }

// Of a device whose reserved memory is recorded.
ChecklistLine fragmentation(const RankResult& rank, const DeviceMemory& device) {
  const double reserved = bytes_of(*device.peak_reserved);
  const double unused = std::max(0.0, 1 - bytes_of(device.peak_allocated) / reserved);
  const bool little =
      rank.gpu_memory && reserved < threshold::much_reserved * bytes_of(*rank.gpu_memory);
  return judged(
      "fragmentation", little || unused < threshold::reserved_unused,
      fmt::format("{} of what is reserved is not allocated at the peak", format_percent(unused)));
}

Checklist memory(const ChecklistInput& in) {
  const auto [rank, device] = fullest(in);
  Checklist out{.name = "memory", .title = "Memory pressure", .lines = {}};
  if (device == nullptr) {
    out.lines = {unknown("peak", no_memory(in)), unknown("fragmentation", no_memory(in))};
  } else {
    out.lines.push_back(judged(
        "peak", true,
        fmt::format(
            "rank {} allocates most, {} at the peak{}", rank->rank,
            format_bytes(bytes_of(device->peak_allocated)),
            device->peak_reserved
                ? fmt::format(", and reserves {}", format_bytes(bytes_of(*device->peak_reserved)))
                : "")));
    if (auto line = found(in, "fragmentation", {"fragmentation"}))
      out.lines.push_back(*line);
    else if (!device->peak_reserved || device->peak_reserved->value <= 0)
      out.lines.push_back(unknown("fragmentation",
                                  "what is reserved is not recorded: a snapshot "
                                  "for stepscope memory has it"));
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
    out.lines.push_back(unknown(
        "limit", device == nullptr ? no_memory(in) : "the memory of the device is not recorded"));
  else
    out.lines.push_back(judged(
        "limit", *left >= threshold::little_headroom,
        fmt::format("{} of the device's memory stays free at the peak", format_percent(*left))));
  return out;
}

ChecklistLine copies(const ChecklistInput& in) {
  if (auto why = no_kernels(in)) return unknown("copies", std::move(*why));
  return share_check(in, "copies", copy_parts, threshold::least_gain,
                     "waits for copies between host and device", {"exposed_copies"});
}

// Patterns of a timeline: gaps, communication behind nothing, long tails, copies.
Checklist timeline(const ChecklistInput& in) {
  ChecklistLine tails =
      communicates(in) ? share_check(in, "collective_tails", waiting_parts, threshold::much_exposed,
                                     "waits for peers in collectives", {"congestion"})
                       : unknown("collective_tails",
                                 in.facts.ranks.empty()
                                     ? std::string(in.lacking)
                                     : "no communication is recorded: record every rank of a job "
                                       "of several ranks");
  return {.name = "timeline",
          .title = "Patterns of the timeline",
          .lines = {share_check(in, "gaps", gap_parts, threshold::much_idle,
                                "is gaps without work, data loading apart",
                                {"launch_bound", "sync_calls", "unseen_host", "pauses"}),
                    overlap_check(in, "sequential_communication"), std::move(tails), copies(in)}};
}

Checklist stragglers(const ChecklistInput& in) {
  constexpr std::string_view name = "late_ranks";
  Checklist out{.name = "stragglers", .title = "Stragglers", .lines = {}};
  if (!in.facts.stragglers.empty())
    out.lines.push_back(
        judged(name, false, fmt::format("{}", fmt::join(in.facts.stragglers, "; "))));
  else if (in.facts.arrivals_known)
    out.lines.push_back(judged(name, true, "no rank stands out"));
  else
    out.lines.push_back(unknown(
        name, in.facts.why_arrivals_unknown.empty()
                  ? "two ranks whose times can be compared are not recorded: record every rank"
                  : in.facts.why_arrivals_unknown));
  out.lines.push_back(balance(in, "rank_work"));
  return out;
}

}  // namespace

std::vector<Checklist> checklists(const ChecklistInput& in) {
  return {low_mfu(in), communication(in), memory(in), timeline(in), stragglers(in)};
}

}  // namespace stepscope
