// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/rank_result.h"

#include "stepscope/analysis/work/op_work.h"
#include "stepscope/base/crew.h"

namespace stepscope {

CategoryMeans mean_budget(std::span<const Budget> budgets) {
  CategoryMeans mean{};
  for (const Budget& b : budgets)
    for (std::size_t c = 0; c < budget_category_count; ++c)
      mean[c] += static_cast<double>(b.time[c].count());
  for (double& m : mean) m /= static_cast<double>(std::max<std::size_t>(1, budgets.size()));
  return mean;
}

AccountedSteps accounted_steps(const RankResult& r) {
  if (r.counted.steps.empty()) {
    if (r.steps.empty()) return {};
    return {r.steps, r.budget.rank().steps, r.phases.steps};
  }
  return {r.counted.steps, r.counted.budget.devices[r.budget.chosen].steps, r.counted.phases.steps};
}

CategoryMeans mean_step_of(const RankResult& r) { return mean_budget(accounted_steps(r).budgets); }

std::size_t accounted_count(const RankResult& r) {
  return r.counted.steps.empty() ? r.steps.size() : r.counted.steps.size();
}

Budget accounted_budget(const RankResult& r) {
  if (r.counted.steps.empty()) return r.budget.total;
  Budget sum;
  for (const Budget& step : accounted_steps(r).budgets) sum += step;
  return sum;
}

bool on_cpu(std::span<const RankResult> ranks) {
  return !ranks.empty() && ranks.front().device.is_cpu();
}

const RankResult* find_rank(std::span<const RankResult> ranks, int rank) {
  const auto at = std::ranges::find(ranks, rank, &RankResult::rank);
  return at == ranks.end() ? nullptr : &*at;
}

std::int64_t most_steps(std::span<const RankResult> ranks) {
  std::size_t most = 1;
  for (const RankResult& r : ranks) most = std::max(most, r.steps.size());
  return static_cast<std::int64_t>(most);
}

bool is_window(const RankResult& r) { return r.steps.size() == 1 && r.steps[0].name == "window"; }

namespace {

// Names of a category's rows.
std::vector<std::string_view> names_of(const Trace& trace, Category category) {
  std::vector<bool> seen(trace.strings.size());
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const StringId name = trace.slices.name[i];
    if (trace.slices.category[i] != category || seen[stepscope::index(name)]) continue;
    seen[stepscope::index(name)] = true;
    names.push_back(trace.strings[name]);
  }
  return names;
}

std::string device_kind(const Trace& trace, const RankIndex& index) {
  if (index.cpu_only()) return "cpu";
  const auto& texts = trace.metadata.texts;
  const std::vector<std::string_view> calls = names_of(trace, Category::runtime);
  const auto any_starts = [&](std::string_view prefix) {
    return std::ranges::any_of(calls, [&](auto name) { return name.starts_with(prefix); });
  };
  if (texts.contains("roctracer_version") || texts.contains("hip_runtime_version") ||
      any_starts("hip"))
    return "rocm";
  if (any_starts("runFunction")) return "mtia";
  if (any_starts("ur") || any_starts("pi")) return "xpu";
  return "cuda";
}

// `chosen`: TimeBudget::chosen.
RankDevice device_of(const Trace& trace, const RankIndex& index, std::size_t chosen) {
  RankDevice found;
  found.kind = device_kind(trace, index);
  if (index.cpu_only()) return found;
  const int device = index.devices[chosen < index.devices.size() ? chosen : 0].device;
  for (const DeviceProperties& d : trace.metadata.devices)
    if (d.id == device || trace.metadata.devices.size() == 1) {
      found.name = d.name;
      if (d.total_memory.value > 0) found.memory = d.total_memory;
    }
  return found;
}

}  // namespace

// Questions of one list are independent and may run in parallel.
AccountedRank account_rank(const RankView& view, std::span<const Step> lost,
                           std::span<const Step> counted, const CommSplit& split, unsigned threads,
                           const std::function<void()>& meanwhile) {
  const Trace& trace = *view.trace;
  const RankIndex& index = *view.index;
  const std::span<const Step> steps = view.steps;
  const std::span<const Step> accounted = counted.empty() ? steps : counted;
  AccountedRank account;
  RankResult& r = account.rank;
  HostPhases& phases = account.phases;
  r.rank = view.rank;
  r.strings = &trace.strings;
  r.steps.assign(steps.begin(), steps.end());
  OpWork work;
  using Questions = std::vector<std::function<void()>>;
  const auto ask = [&](const Questions& questions) {
    parallel_for(questions.size(), threads, [&](std::size_t i) { questions[i](); });
  };
  ask({[&] { work = attribute_work(trace, index); },
       [&] {
         phases = host_phases(trace, index, steps);
         r.budget = time_budget(trace, index, steps, split);
       },
       [&] { r.recording = recording_of(trace, index, steps, lost); }});
  r.device = device_of(trace, index, r.budget.chosen);
  if (!steps.empty()) find_idle_in_start_up(r.budget.rank().idle, accounted, r.recording.start_up);
  ask({[&] {
         if (meanwhile) meanwhile();
       },
       [&] { r.work.kernels = kernel_table(trace, index, accounted, work); },
       [&] { r.work.samples = counter_samples(trace, steps); },
       [&] { r.work.operators = operator_table(trace, index, accounted, work); },
       [&] { r.work.executed = executed_work(trace, index, steps, work); },
       [&] { r.phases = phase_budget(trace, index, steps, phases, r.budget.chosen); },
       [&] { r.work.ranges = range_tree(trace, index, steps, phases); },
       [&] { r.work.overlap = overlap(trace, index, steps, r.budget); },
       [&] {
         r.host = host_table(trace, index, accounted);
         r.host.retries = allocation_retries(trace, index, accounted, r.recording.start_up);
         if (!steps.empty()) r.host.gil = gil_waits(trace, index, steps, r.budget.rank());
       },
       [&] { r.memory = memory_table(trace, index, steps, phases.host); },
       [&] {
         r.device.windows = gpu_windows(trace, index);
         if (!steps.empty()) r.device.idle = idle_causes(trace, index, steps, r.budget.rank());
       }});
  return account;
}

}  // namespace stepscope
