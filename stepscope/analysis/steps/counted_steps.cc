// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/counted_steps.h"

#include <algorithm>
#include <map>
#include <optional>

#include "stepscope/analysis/steps/step_at.h"
#include "stepscope/base/parallel_for.h"

namespace stepscope {
namespace {

// The recorded time of a view, from where its first step begins to work.
struct Window {
  Ns begin = Ns::max();
  Ns end = Ns::min();
};

// What runs on a device within the steps, by start.
template <class Visit>
void each_operation(const RankView& view, Visit&& visit) {
  const Ns from = view.steps.front().start;
  const Ns until = view.steps.back().end;
  for (const DeviceLane& lane : view.index->devices)
    for (const SliceId op : lane.ops)
      if (const Ns start = view.trace->slices.start[index(op)]; start >= from && start < until)
        visit(op, start);
}

// Without an operation it has no begin.
Window window_of(const RankView& view) {
  Window w;
  if (view.steps.empty()) return w;
  w.end = view.steps.back().end;
  if (view.index->cpu_only()) w.begin = view.steps.front().start;
  each_operation(view, [&](SliceId, Ns start) { w.begin = std::min(w.begin, start); });
  return w;
}

// Ordinal of the step that launched a device operation; -1 if that was before them. One whose
// launch has no row counts to the step in which it runs if most launches have none either, else to
// none.
std::int32_t launching_step(const RankView& view, SliceId op, bool launches_recorded) {
  const SliceId call = view.index->launch(op);
  if (call == no_slice && launches_recorded) return -1;
  const auto& starts = view.trace->slices.start;
  return call != no_slice ? last_step_of_host(view.steps, starts[index(call)])
                          : last_step(view.steps, starts[index(op)]);
}

// By step: the end of the last device operation that it launched; absent without one. Empty for a
// rank without a device.
std::vector<std::optional<Ns>> ends_of_steps(const RankView& view) {
  if (view.steps.empty() || view.index->cpu_only()) return {};
  std::size_t operations = 0;
  std::size_t launched = 0;
  each_operation(view, [&](SliceId op, Ns) {
    ++operations;
    if (view.index->launch(op) != no_slice) ++launched;
  });
  std::vector<std::optional<Ns>> ends(view.steps.size());
  each_operation(view, [&](SliceId op, Ns) {
    const std::int32_t step = launching_step(view, op, 2 * launched > operations);
    if (step < 0) return;
    std::optional<Ns>& end = ends[static_cast<std::size_t>(step)];
    end = std::max(end.value_or(Ns::min()), view.trace->slices.end(op));
  });
  return ends;
}

// A step that all views with steps have.
struct JobEnd {
  std::int64_t index = 0;
  bool follows = true;   // on each view, the step before it ended where it began
  std::vector<Ns> ends;  // by view
  std::size_t views = 0;
};

std::vector<JobEnd> ends_on_all(std::span<const RankView> views, unsigned threads) {
  std::vector<std::vector<std::optional<Ns>>> own(views.size());
  parallel_for(views.size(), threads, [&](std::size_t v) { own[v] = ends_of_steps(views[v]); });
  std::map<std::int64_t, JobEnd> of_index;
  std::size_t with_steps = 0;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const auto& steps = views[v].steps;
    if (!steps.empty()) ++with_steps;
    for (std::size_t s = 0; s < own[v].size(); ++s) {
      if (!own[v][s]) continue;
      JobEnd& step = of_index[steps[s].index];
      step.ends.resize(views.size(), Ns::min());
      step.ends[v] = *own[v][s];
      step.follows = step.follows && s > 0 && steps[s - 1].index + 1 == steps[s].index &&
                     steps[s - 1].end == steps[s].start;
      ++step.views;
    }
  }
  std::vector<JobEnd> all;
  for (auto& [number, step] : of_index) {
    if (step.views != with_steps) continue;
    step.index = number;
    step.follows = step.follows && !all.empty() && all.back().index + 1 == number;
    all.push_back(std::move(step));
  }
  return all;
}

// The steps between ends, of these views together.
std::vector<Step> between_ends(std::span<const JobEnd> ends, std::span<const std::size_t> of) {
  std::vector<Step> steps;
  std::optional<Ns> before;
  for (const JobEnd& step : ends) {
    Ns end = Ns::min();
    for (const std::size_t v : of) end = std::max(end, step.ends[v]);
    if (before) end = std::max(end, *before);
    if (before && step.follows)
      steps.push_back({.index = step.index, .name = {}, .start = *before, .end = end});
    before = end;
  }
  return steps;
}

// The steps of a view from the first begin to the last end, each up to the begin of the next.
std::vector<Step> whole_steps(const RankView& view, Ns first, Ns last) {
  std::vector<Step> steps(view.steps.begin(), view.steps.end());
  for (std::size_t k = 1; k < steps.size(); ++k) steps[k - 1].end = steps[k].start;
  std::erase_if(steps, [&](const Step& s) { return s.end <= first || s.start >= last; });
  if (steps.empty()) return steps;
  steps.front().start = first;
  steps.back().end = last;
  return steps;
}

// Of views with as many steps each: from the first begin of a step to the first of the next.
std::vector<Step> joined(std::span<const std::vector<Step>> of_view) {
  std::vector<Step> job;
  for (const std::vector<Step>& steps : of_view) {
    if (steps.empty()) continue;
    if (job.empty()) {
      job = steps;
      continue;
    }
    if (job.size() != steps.size()) return {};
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (job[k].index != steps[k].index) return {};
      job[k].start = std::min(job[k].start, steps[k].start);
      job[k].end = std::max(job[k].end, steps[k].end);
    }
  }
  for (std::size_t k = 1; k < job.size(); ++k) job[k - 1].end = job[k].start;
  return job;
}

Ns mean_length(std::span<const Step> steps) {
  Ns sum{};
  for (const Step& s : steps) sum += s.end - s.start;
  return steps.empty() ? Ns{0} : sum / std::ssize(steps);
}

}  // namespace

CountedSteps count_steps(std::span<const RankView> views, bool together, unsigned threads) {
  CountedSteps counted;
  counted.of_view.resize(views.size());
  std::vector<std::size_t> with_steps;
  bool as_many = true;  // of the views with steps
  std::size_t steps_of_each = 0;
  std::vector<Window> windows;
  for (std::size_t v = 0; v < views.size(); ++v) {
    windows.push_back(window_of(views[v]));
    if (views[v].steps.empty()) continue;
    if (windows[v].begin != Ns::max()) with_steps.push_back(v);
    as_many = as_many && (steps_of_each == 0 || views[v].steps.size() == steps_of_each);
    steps_of_each = views[v].steps.size();
  }
  const std::vector<JobEnd> ends = ends_on_all(views, threads);
  const auto count = [&](std::span<const std::size_t> of) {
    const std::vector<Step> steps = between_ends(ends, of);
    for (const std::size_t v : of) counted.of_view[v] = steps;
    if (!steps.empty() || !as_many) return;
    Window all;
    for (const std::size_t v : of) {
      all.begin = std::min(all.begin, windows[v].begin);
      all.end = std::max(all.end, windows[v].end);
    }
    for (const std::size_t v : of) counted.of_view[v] = whole_steps(views[v], all.begin, all.end);
  };
  if (together && !with_steps.empty()) count(with_steps);
  if (!together)
    for (const std::size_t& v : with_steps) count(std::span(&v, 1));
  if (together) {
    counted.of_job = joined(counted.of_view);
    return counted;
  }
  for (const std::vector<Step>& steps : counted.of_view)
    if (mean_length(steps) > mean_length(counted.of_job)) counted.of_job = steps;
  return counted;
}

}  // namespace stepscope
