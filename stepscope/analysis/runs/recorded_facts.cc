// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/recorded_facts.h"

#include <algorithm>

#include "stepscope/analysis/steps/incomplete_steps.h"

namespace stepscope {

double lost_share(const RankResult& rank) {
  std::uint64_t launches = 0;
  std::uint64_t lost = 0;
  for (const StepRecording& step : rank.recording.steps) {
    launches += step.launches;
    lost += step.lost_launches;
  }
  return launches > 0 ? static_cast<double>(lost) / static_cast<double>(launches) : 0;
}

namespace {

// Of most device rows.
bool launches_are_known(const RankRecording& r) {
  return r.has_launch_rows() &&
         static_cast<double>(r.loose_rows) <= most_loose_rows * static_cast<double>(r.device_rows);
}

}  // namespace

Facts recorded_facts(const JobResult& job) {
  Facts facts{};
  const auto set = [&](Fact f, bool value) { facts[static_cast<std::size_t>(f)] = value; };
  const auto any = [&](auto test) { return std::ranges::any_of(job.ranks, test); };
  const auto all = [&](auto test) { return std::ranges::all_of(job.ranks, test); };
  using Rank = RankResult;
  const auto on_cpu = [](const Rank& r) {
    return r.device == "cpu" && !r.recording.device_unseen();
  };
  set(Fact::rows, !job.ranks.empty());
  set(Fact::steps, any([](const Rank& r) { return !r.steps.empty() && !is_window(r); }));
  set(Fact::device_rows, all([&](const Rank& r) {
        return on_cpu(r) || (!r.recording.device_unseen() && lost_share(r) < most_lost_launches);
      }));
  set(Fact::launches,
      all([&](const Rank& r) { return on_cpu(r) || launches_are_known(r.recording); }));
  set(Fact::operators, any([](const Rank& r) {
        return r.recording.of(Category::cpu_op) + r.recording.of(Category::user_annotation) +
                   r.recording.of(Category::python_function) >
               0;
      }));
  set(Fact::shapes, any([](const Rank& r) { return r.recording.shaped_operators > 0; }));
  set(Fact::stream_waits,
      any([](const Rank& r) { return r.device != "cuda" || r.recording.of(Category::sync) > 0; }));
  set(Fact::memory, any([](const Rank& r) { return !r.memory.devices.empty(); }));
  set(Fact::ranks, job.ranks.size() > 1);
  set(Fact::clocks, job.collectives.matches.clocks_comparable || job.ranks.size() == 1);
  return facts;
}

}  // namespace stepscope
