// SPDX-License-Identifier: Apache-2.0
// Analysed jobs by hand for tests of the faces: ranks with a budget each, joined as analyze_job
// joins them, and nothing else in them.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/diagnose/analysis.h"

namespace stepscope {

using TestBudget = std::vector<std::pair<BudgetCategory, std::int64_t>>;  // ms of the step

// A recording from which everything could be concluded, for jobs that a test makes by hand.
inline void record_everything(JobResult& job) {
  for (RankResult& r : job.ranks) {
    r.recording.format = "kineto";
    for (const Category c : {Category::cpu_op, Category::user_annotation, Category::sync})
      r.recording.rows[static_cast<std::size_t>(c)] = 1;
    r.recording.device_rows = r.recording.shaped_operators = 1;
    if (r.memory.devices.empty()) r.memory.devices.emplace_back().device = 0;
  }
  job.collectives.matches.clocks_comparable = true;
}

class TestReport {
 public:
  // One step for each rank; ranks are numbered in order. Operators, kernels and launches are
  // recorded.
  explicit TestReport(const std::vector<TestBudget>& ranks) {
    for (const TestBudget& budget : ranks) add(budget);
    for (std::size_t c = 0; c < budget_category_count; ++c) {
      CategorySpread& spread = job.steps.spread[c];
      for (const RankResult& r : job.ranks) {
        const auto time = static_cast<double>(r.budget.total.time[c].count());
        spread.mean += time / static_cast<double>(job.ranks.size());
        if (time > spread.worst) spread = {spread.mean, time, r.rank, {}, {}};
      }
      job.steps.mean.time[c] = Ns{static_cast<std::int64_t>(spread.mean)};
    }
    job.collectives.matches.clocks_comparable = true;
    InputRow& input = report.inputs.emplace_back();
    input.path = "rank0.json";
    input.rank = 0;
    report.answer.sentence = msg::plain("A step takes 1.00 s and is bound by compute");
  }
  TestReport(const TestReport&) = delete;
  TestReport& operator=(const TestReport&) = delete;

  StringId name(std::string_view text) { return strings_.front().intern(text); }
  RankResult& rank(std::size_t i) { return job.ranks[i]; }
  // Recorded with everything, so that nothing is left to recommend.
  void record_everything() { stepscope::record_everything(job); }
  KernelRow& kernel(std::string_view text, NameClass kind, double share) {
    KernelRow row;
    row.name = name(text);
    row.kind = kind;
    row.count = 10;
    row.total = Ns{1'000'000};
    row.share = share;
    return job.ranks.front().work.kernels.kernels.emplace_back(row);
  }
  void gap(BudgetCategory cause, std::int64_t ns, std::string activity, std::string culprit = {}) {
    IdleInstance instance;
    instance.wall = Ns{ns};
    instance.step = 5;
    instance.host_activity = std::move(activity);
    if (!culprit.empty()) instance.culprit = std::move(culprit);
    job.ranks.front().device.idle.push_back({cause, Ns{ns}, 1, {instance}});
  }

  Analysis report;
  JobResult& job = report.job;

 private:
  void add(const TestBudget& budget) {
    if (strings_.empty()) strings_.emplace_back();
    RankResult r;
    r.rank = static_cast<int>(job.ranks.size());
    r.strings = &strings_.front();
    r.device.kind = "cuda";
    r.device.name = "NVIDIA H100 80GB HBM3";
    Budget step;
    for (const auto& [category, ms] : budget) step[category] += Ns{ms * 1'000'000};
    r.budget.total = step;
    r.budget.devices.push_back({0, {step}, {}});
    Step& at = r.steps.emplace_back();
    at.index = 5;
    at.name = "ProfilerStep#5";
    at.end = step.sum();
    if (job.steps.common.empty()) job.steps.common.push_back({5, Ns{}, Ns{}, {}});
    job.steps.common.front().wall = std::max(job.steps.common.front().wall, step.sum());
    job.steps.common.front().ranks.push_back(r.rank);
    r.recording.format = "kineto";
    r.recording.rows[static_cast<std::size_t>(Category::user_annotation)] = 1;
    r.recording.device_rows = 1;
    job.ranks.push_back(std::move(r));
  }

  std::deque<StringPool> strings_;
};

}  // namespace stepscope
