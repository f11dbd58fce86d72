// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_result_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/telemetry/zero3_performance_stats.h"
#include "engine/train/train_settings.h"
#include "stepscope/face/tree/version.h"

namespace stepscope {
namespace {

Ns of(const StepRecord& step, Activity a) { return step.activity[slot(a)]; }

void add_setup(const TrainRequest& request, const zero::Engine& engine, const Communicator& comm,
               TrainSetup& s) {
  const zero::EngineConfig& c = engine.config();
  s.model = request.preset;
  s.parameters = nn::parameter_count(c.network);
  s.ranks = comm.size();
  s.zero = c.stage;
  s.precision = element_name(c.type);
  s.batch = c.batch;
  s.sequence = c.tokens;
  s.accumulation = c.micro_batches;
  s.recompute = recompute_words(c.recompute);
  s.transport = request.transport;
}

void add_memory(const zero::Engine& engine, TrainResult& result) {
  const zero::ArenaMemory measured = engine.measured_memory();
  for (std::size_t c = 0; c < zero::arena_class_count; ++c) {
    const zero::ClassMemory& planned = engine.plan().memory[c];
    if (planned.arena().value == 0 && measured[c].arena().value == 0) continue;
    result.memory.push_back({.name = std::string(zero::arena_class_names[c]),
                             .planned = planned.arena(),
                             .padding = planned.padding,
                             .unused = planned.unused,
                             .measured = measured[c].arena()});
  }
}

void add_collectives(const CommunicationStats& stats, TrainResult& result) {
  for (const CollectiveKindStats& kind : stats.kinds) {
    const JobCollective& c = kind.calls;
    const auto ranks = static_cast<std::int64_t>(std::max(1, c.group.size));
    const auto same = std::ranges::find_if(result.collectives, [&](const TrainCollective& t) {
      return t.kind == collective_kind_names[slot(c.kind)] && t.group == c.group.size;
    });
    TrainCollective& row =
        same != result.collectives.end()
            ? *same
            : result.collectives.emplace_back(TrainCollective{
                  .kind = std::string(collective_kind_names[slot(c.kind)]), .group = c.group.size});
    row.calls += c.unique;
    row.payload += Bytes{c.sum.bytes.value / ranks};
    row.padding += Bytes{c.sum.padding.value / ranks};
    row.sent = bus_bytes(c.kind, c.group.size, row.payload);
    row.transfer += c.sum.transfer / ranks;
    row.wait += c.sum.peer_wait / ranks;
    row.stall += c.sum.stall / ranks;
    if (kind.efficiency)
      row.expected += Ns{std::llround(*kind.efficiency * nanoseconds_of(c.sum.transfer))} / ranks;
  }
}

// What moved between host memory and files, and what of it the training thread saw: means over
// ranks and steps.
void add_offload(const zero::Engine& engine, const MemoryTransferMetrics& transfers,
                 TrainResult& result) {
  for (const std::string& store : engine.offload_descriptions())
    result.offload.push_back(msg::offload_of_rank(store));
  const auto ranks_of = [](const TrainStep& step) { return std::ssize(step.ranks); };
  std::ptrdiff_t rank_steps = 0;
  for (const TrainStep& step : result.steps) rank_steps += ranks_of(step);
  if (result.offload.empty() || rank_steps == 0) return;
  std::ptrdiff_t counted = 0;
  Ns exposed{};
  Ns wall{};
  for (const TrainStep& step : counted_steps(result)) {
    counted += ranks_of(step);
    for (const TrainRankStep& rank : step.ranks) {
      wall += rank.wall;
      exposed += rank.budget[static_cast<std::size_t>(BudgetCategory::copy_exposed)];
    }
  }
  for (const TransferLinkStats& link : transfers.links)
    result.offload.push_back(msg::offload_moves(
        link.direction == TransferDirection::host_to_nvme,
        ByteSize{static_cast<double>(link.sum.bytes.value) / static_cast<double>(rank_steps)},
        link.sum.busy / rank_steps,
        link.efficiency ? Value(Digits{100 * *link.efficiency}) : Value()));
  if (counted > 0) result.offload.push_back(msg::offload_stalls(exposed / counted, wall / counted));
}

// Row i of each rank's steps is history's i-th.
void add_steps(const JobWindow& job, const TrainHistory& history, TrainResult& result) {
  const std::vector<JobStepTimes> times = job_steps(job);
  for (std::size_t i = 0; i < history.steps.size() && i < times.size(); ++i) {
    const zero::StepResult& r = history.steps[i].result;
    TrainStep step{.index = r.step,
                   .loss = r.loss,
                   .validation_loss = history.steps[i].validation,
                   .gradient_norm = r.skipped ? std::nullopt : std::optional(r.gradient_norm),
                   .learning_rate = r.learning_rate,
                   .tokens = r.tokens,
                   .skipped = r.skipped,
                   .wall = times[i].end - times[i].begin,
                   .added = times[i].added};
    for (const RankWindow& rank : job.ranks)
      if (i < rank.steps.size()) step.ranks.push_back(rank_step_of(rank.steps[i]));
    result.steps.push_back(std::move(step));
  }
  if (!times.empty()) {
    result.model_flops = times.back().model_flops;
    result.executed_flops = times.back().executed_flops;
  }
}

}  // namespace

TrainRankStep rank_step_of(const StepRecord& step) {
  TrainRankStep out{
      .wall = step.end - step.begin, .budget = {}, .phases = {}, .tokens = step.tokens};
  using enum Activity;
  const Ns passes =
      of(step, forward) + of(step, backward) + of(step, recompute) + of(step, optimizer);
  const auto put = [&](BudgetCategory c, Ns t) { out.budget[static_cast<std::size_t>(c)] = t; };
  put(BudgetCategory::compute, passes - step.overlapped);
  put(BudgetCategory::comm_overlapped, step.overlapped);
  const ExposedTime& exposed = step.exposed;
  put(BudgetCategory::comm_exposed_wait, exposed.wait);
  put(BudgetCategory::comm_exposed_transfer, exposed.transfer);
  put(BudgetCategory::comm_exposed_unsplit, exposed.unsplit);
  put(BudgetCategory::copy_exposed,
      of(step, wait_transfer) + of(step, wait_io) - exposed.during_transfer - exposed.during_io);
  put(BudgetCategory::idle_data, of(step, data));
  put(BudgetCategory::idle_host, of(step, other) - exposed.during_other);
  const auto phase = [&](Phase p, Activity a) {
    out.phases[static_cast<std::size_t>(p)] = step.surrounding[slot(a)];
  };
  phase(Phase::forward, forward);
  phase(Phase::backward, backward);
  phase(Phase::recompute, recompute);
  phase(Phase::optimizer, optimizer);
  phase(Phase::data, data);
  phase(Phase::other, other);
  return out;
}

TrainResult train_result_of(const TrainRequest& request, const zero::Engine& engine,
                            const Communicator& comm, const TrainAccount& account,
                            const TrainHistory& history, const ReferenceRates& references) {
  const JobWindow& job = account.run();
  TrainResult result;
  result.version = version();
  add_setup(request, engine, comm, result.setup);
  if (references.peak) {
    result.peak = references.peak;
    result.peak_source = request.peak ? std::string("--peak-tflops")
                                      : fmt::format("multiply-adds with {}, measured before step 1",
                                                    references.peak_source);
  } else {
    result.warnings.push_back(msg::cpu_without_peak(element_name(engine.config().type)));
  }
  add_steps(job, history, result);
  add_memory(engine, result);
  Zero3PerformanceStats stats(job);
  const auto set = stats.set_references(references);
  check(set.has_value(), "the references are of groups of this job");
  result.stats = stats.performance_summary();
  add_collectives(result.stats->communication, result);
  result.checkpoints = history.checkpoints;
  add_offload(engine, result.stats->memory_transfers, result);
  append(result.warnings, history.warnings);
  return result;
}

}  // namespace stepscope
