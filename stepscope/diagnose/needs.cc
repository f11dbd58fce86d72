// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/needs.h"

#include <algorithm>
#include <array>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

using Needs = std::array<Fact, 3>;  // fewer: Fact::rows, which any recording has, for the others

struct FindingNeeds {
  std::string_view id;
  Needs needs;
};

constexpr auto finding_needs = [] {
  using enum Fact;
  return std::to_array<FindingNeeds>({
      {"slow_rank", {ranks, device_rows}},
      {"late_host", {ranks, device_rows, launches}},
      {"throttling", {ranks, device_rows, steps}},
      {"pauses", {device_rows, launches}},
      {"outlier_step", {device_rows, steps}},
      {"slow_group", {ranks, clocks}},
      {"exposed_communication", {device_rows}},
      {"slow_link", {rows}},
      {"congestion", {ranks, clocks}},
      {"bucket_too_small", {device_rows}},
      {"bucket_too_large", {device_rows}},
      {"prefetch_miss", {device_rows}},
      {"algorithm_not_best", {rows}},
      {"sync_calls", {device_rows, launches}},
      {"unseen_host", {operators, device_rows}},
      {"launch_bound", {device_rows, launches}},
      {"data_loader", {operators}},
      {"garbage_collection", {operators}},
      {"allocator_in_step", {device_rows, launches}},
      {"allocation_retries", {device_rows, launches}},
      {"profiler_overhead", {rows}},
      {"gil_contention", {rows}},
      {"exposed_copies", {device_rows}},
      {"device_shared", {device_rows, launches}},
      {"sequence_imbalance", {ranks, shapes}},
      {"uneven_compute", {ranks, device_rows}},
      {"stage_imbalance", {ranks, device_rows}},
      {"bubble", {ranks, device_rows}},
      {"padding", {shapes}},
      {"low_matmul_efficiency", {shapes}},
      {"small_matmuls", {device_rows}},
      {"tensor_cores_unused", {rows}},
      {"fp32_matmuls", {shapes}},
      {"memory_bound", {device_rows}},
      {"contention", {device_rows}},
      {"recompute", {operators, shapes}},
      {"memory_near_limit", {memory}},
      {"fragmentation", {memory}},
      {"gpu_slowdown", {rows}},
      {"too_few_steps", {rows}},
  });
}();

// The needs of a bound of verdicts that is no finding.
constexpr auto bound_needs = std::to_array<FindingNeeds>({{"compute_bound", {Fact::device_rows}}});

// In the order of Change.
constexpr auto change_needs = [] {
  using enum Fact;
  return std::to_array<Needs>({
      {ranks, clocks},           // no_waiting
      {device_rows},             // communication_free
      {rows},                    // bandwidth
      {rows},                    // latency
      {device_rows},             // compute
      {device_rows, launches},   // host_free
      {device_rows, launches},   // host
      {operators},               // data_free
      {launches},                // allocator_free
      {operators},               // collector_free
      {operators, device_rows},  // unseen_free
      {rows},                    // profiler_free
      {device_rows, launches},   // sync_free
      {device_rows, launches},   // syncs_once
      {device_rows, launches},   // pauses_free
      {device_rows},             // copies_free
      {device_rows, launches},   // device_alone
      {ranks, device_rows},      // rank_as_peers
      {ranks, clocks},           // group_as_siblings
      {steps, device_rows},      // step_as_others
      {ranks, device_rows},      // stages_balanced
      {ranks, device_rows},      // ranks_balanced
      {device_rows},             // bucket
      {device_rows},             // prefetch
  });
}();
static_assert(change_needs.size() == static_cast<std::size_t>(Change::prefetch) + 1);

using Words = MessageMaker<0>;

// What records a fact, by the profiler that wrote the traces; nothing: it cannot.
struct Remedy {
  Fact fact;
  Words what;
  Words gives;
  Words pytorch;
  Words nsys{};
  Words rocprof{};
  Words xla{};
};

constexpr auto remedies = [] {
  using enum Fact;
  return std::to_array<Remedy>({
      {steps, msg::fact_steps, msg::gives_steps, msg::with_step_marks, msg::with_nvtx_steps,
       msg::with_roctx_steps, msg::with_jax_steps},
      {device_rows, msg::fact_device_rows, msg::gives_device_rows, msg::with_activity_cuda,
       msg::with_trace_cuda, msg::with_kernel_trace},
      {launches, msg::fact_launches, msg::gives_launches, msg::with_activity_cpu,
       msg::with_trace_cuda, msg::with_hip_trace},
      {operators, msg::fact_operators, msg::gives_operators, msg::with_activity_cpu,
       msg::with_nvtx_ranges, msg::with_roctx_ranges},
      {shapes, msg::fact_shapes, msg::gives_shapes, msg::with_shapes, msg::with_nvtx_shapes},
      {memory, msg::fact_memory, msg::gives_memory, msg::with_memory, msg::with_memory_usage},
      {stream_waits, msg::fact_stream_waits, msg::fact_stream_waits, msg::with_sync_events},
      {ranks, msg::fact_ranks, msg::gives_ranks, msg::with_every_rank, msg::with_every_rank,
       msg::with_every_rank, msg::with_every_rank},
      {clocks, msg::fact_clocks, msg::gives_clocks, msg::with_absolute_time, msg::with_same_steps,
       msg::with_same_steps, msg::with_same_steps},
  });
}();

// Whether the profiler of PyTorch wrote the rows, whichever format keeps them.
bool by_pytorch(const RankRecording& r) {
  return r.format != "nsys" && r.format != "rocprof" && r.format != "xplane";
}

Message record_with(const Remedy& r, const RankRecording& recording) {
  if (recording.format == "nsys") return r.nsys();
  if (recording.format == "rocprof") return r.rocprof();
  if (recording.format == "xplane")
    return recording.tensorflow && r.fact == Fact::steps ? msg::with_tensorflow_steps() : r.xla();
  return r.pytorch();
}

}  // namespace

Message record_with(Fact fact, const JobResult& job) {
  return record_with(*std::ranges::find(remedies, fact, &Remedy::fact),
                     job.ranks.front().recording);
}

Message device_rows_remedy(const JobResult& job) {
  const auto profiled = [](const RankResult& r) { return r.recording.of(Category::overhead) > 0; };
  const bool torch =
      std::ranges::all_of(job.ranks, [](const RankResult& r) { return by_pytorch(r.recording); });
  const bool was_on = torch && std::ranges::any_of(job.ranks, profiled);
  return msg::record_device_rows(was_on ? Message() : record_with(Fact::device_rows, job), torch);
}

bool device_unseen(const JobResult& job) {
  return std::ranges::any_of(job.ranks,
                             [](const RankResult& r) { return r.recording.device_unseen(); });
}

std::span<const Fact> needs_of(std::string_view finding) {
  const auto bound = std::ranges::find(bound_needs, finding, &FindingNeeds::id);
  if (bound != bound_needs.end()) return bound->needs;
  const auto at = std::ranges::find(finding_needs, finding, &FindingNeeds::id);
  check(at != finding_needs.end(), "a finding has its needs");
  return at->needs;
}

std::span<const Fact> needs_of(Change change) {
  return change_needs[static_cast<std::size_t>(change)];
}

std::optional<Fact> lacks(const Facts& facts, std::span<const Fact> needs) {
  const auto at = std::ranges::find_if(needs, [&](Fact f) { return !has(facts, f); });
  return at == needs.end() ? std::nullopt : std::optional(*at);
}

std::vector<MissingFact> missing_facts(const JobResult& job) {
  std::vector<MissingFact> missing;
  if (job.ranks.empty()) return missing;
  const Facts facts = recorded_facts(job);
  for (const Remedy& r : remedies) {
    if (has(facts, r.fact)) continue;
    MissingFact& m = missing.emplace_back();
    m.fact = r.fact;
    m.what = r.what();
    m.record = record_with(r, job.ranks.front().recording);
    m.gives = r.gives();
    for (const FindingNeeds& f : finding_needs)
      if (lacks(facts, f.needs) == r.fact) m.findings.push_back(f.id);
  }
  return missing;
}

void withhold_unfounded(JobResult& job) {
  if (!job.explanation) return;
  const Facts facts = recorded_facts(job);
  Explanation& e = *job.explanation;
  std::erase_if(e.faults, [&](const StepFault& f) {
    return lacks(facts, needs_of(step_fault_names[static_cast<std::size_t>(f.kind)])).has_value();
  });
  std::erase_if(e.what_ifs, [&](const WhatIf& w) {
    return lacks(facts, needs_of(w.scenario.change)).has_value();
  });
  // Then it is not known either which step a kernel is of, and what holds it.
  const bool launches = has(facts, Fact::launches);
  const bool unseen = device_unseen(job);
  if (unseen) e.path = {};
  if (!launches || unseen) {
    e.refused = true;
    e.what_ifs.clear();
    e.faults.clear();
  }
  for (WhatIf& w : e.asked) {
    const auto lacking =
        launches ? lacks(facts, needs_of(w.scenario.change)) : std::optional(Fact::launches);
    if (!lacking || !w.refused.empty()) continue;
    const auto r = std::ranges::find(remedies, *lacking, &Remedy::fact);
    w.refused = msg::recording_lacks(r->what(), record_with(*lacking, job));
  }
}

}  // namespace stepscope
