// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/counted_steps.h"

#include <algorithm>
#include <map>
#include <optional>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/crew.h"

namespace stepscope {

std::int32_t launching_step(const RankView& view, SliceId op, bool launches_recorded) {
  const SliceId call = view.index->launch(op);
  if (call == no_slice && launches_recorded) return -1;
  const auto& starts = view.trace->slices.start;
  return call != no_slice ? last_step_of_host(view.steps, starts[index(call)])
                          : last_step(view.steps, starts[index(op)]);
}

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
  for (const SliceId op : view.index->operations())
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

// The steps between ends, of these views together.
std::vector<Step> between_ends(std::span<const CommonStep> common,
                               std::span<const std::vector<std::optional<Ns>>> ends,
                               std::span<const std::size_t> of) {
  std::vector<Step> steps;
  Ns before = Ns::min();
  for (const CommonStep& step : common) {
    Ns end = before;
    for (const std::size_t v : of) end = std::max(end, *ends[v][step.place[v]]);
    if (step.follows) steps.push_back({.index = step.index, .start = before, .end = end});
    before = end;
  }
  return steps;
}

// Each with the annotation of the view's own step.
std::vector<Step> annotated(std::vector<Step> steps, std::span<const Step> own) {
  const auto places = places_by_number(own);
  for (Step& s : steps) {
    const auto at = places.find(s.index);
    if (at == places.end()) continue;
    const Step& same = own[at->second];
    s.name = same.name;
    s.host_start = same.host_start;
    s.host_end = same.host_end;
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

// The steps of views with equal numbers of steps: from the first begin of a step to the first begin
// of the next.
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

std::vector<CommonStep> common_steps(std::span<const RankView> views,
                                     const std::function<bool(std::size_t, std::size_t)>& ends) {
  std::map<std::int64_t, CommonStep> of_index;
  std::ptrdiff_t with_steps = 0;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const auto& steps = views[v].steps;
    if (!steps.empty()) ++with_steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (!ends(v, s)) continue;
      CommonStep& step = of_index[steps[s].index];
      step.place.resize(views.size(), no_place);
      step.place[v] = s;
      step.follows = step.follows && s > 0 && steps[s - 1].index + 1 == steps[s].index &&
                     steps[s - 1].end == steps[s].start;
    }
  }
  std::vector<CommonStep> common;
  for (auto& [number, step] : of_index) {
    if (std::ssize(step.place) - std::ranges::count(step.place, no_place) != with_steps) continue;
    step.index = number;
    step.follows = step.follows && !common.empty() && common.back().index + 1 == number;
    common.push_back(std::move(step));
  }
  return common;
}

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
  std::vector<std::vector<std::optional<Ns>>> ends(views.size());
  parallel_for(views.size(), threads, [&](std::size_t v) { ends[v] = ends_of_steps(views[v]); });
  const std::vector<CommonStep> common = common_steps(views, [&](std::size_t v, std::size_t s) {
    return s < ends[v].size() && ends[v][s].has_value();
  });
  const auto count = [&](std::span<const std::size_t> of) {
    const std::vector<Step> steps = between_ends(common, ends, of);
    for (const std::size_t v : of) counted.of_view[v] = annotated(steps, views[v].steps);
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

namespace {

constexpr double least_calling = 0.9;  // calls of an operator, against the step with most

// The launches of one step.
struct Launches {
  bool on_device = false;      // an operation was launched in it
  Ns device_end = Ns::min();   // of its operations
  std::uint64_t answered = 0;  // launches whose operation is there
  std::uint64_t lost = 0;      // launches without one
  std::uint64_t ops = 0;       // rows of operators
  std::uint64_t calls = 0;     // of the device's runtime
  bool hole = false;           // a product called nothing
};

// The step on the host in which an instant lies, or null.
Launches* step_of_instant(std::vector<Launches>& launches, const std::vector<Step>& steps,
                          Ns time) {
  const auto step = step_of_host(steps, time);
  return step ? &launches[*step] : nullptr;
}

std::vector<Launches> launches_of(const Trace& trace, const RankIndex& rank,
                                  const std::vector<Step>& steps) {
  const Slices& s = trace.slices;
  std::vector<Launches> launches(steps.size());
  std::vector<bool> seen(s.size());
  for (const SliceId op : rank.operations()) {
    const SliceId call = rank.launch(op);
    if (call == no_slice) continue;
    Launches* step = step_of_instant(launches, steps, s.start[index(call)]);
    if (step == nullptr) continue;
    step->on_device = true;
    step->device_end = std::max(step->device_end, s.end(op));
    if (!seen[index(call)]) ++step->answered;
    seen[index(call)] = true;
  }
  for (const SliceId call : rank.lost_launches)
    if (Launches* step = step_of_instant(launches, steps, s.start[index(call)])) ++step->lost;
  return launches;
}

// Whether a call of the device's runtime lies inside the operator.
bool calls_runtime(const Trace& trace, std::uint32_t op) {
  const Slices& s = trace.slices;
  const Track& track = trace.track(s.track[op]);
  const Ns end = s.start[op] + s.dur[op];
  for (std::uint32_t i = op + 1; i < track.first + track.count && s.start[i] < end; ++i)
    if (is_call(s.category[i])) return true;
  return false;
}

// Some profilers write their buffers in a ring, so a lost buffer may leave a hole in the middle.
void count_rows(const Trace& trace, const std::vector<Step>& steps,
                std::vector<Launches>& launches) {
  const Slices& s = trace.slices;
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    const bool call = is_call(s.category[i]);
    if (!call && s.category[i] != Category::cpu_op) continue;
    Launches* step = step_of_instant(launches, steps, s.start[i]);
    if (step == nullptr) continue;
    ++(call ? step->calls : step->ops);
    if (!call && s.kind[i] == NameClass::matmul)
      step->hole = step->hole || !calls_runtime(trace, i);
  }
}

double calls_by_op(const Launches& l) {
  return l.ops > 0 ? static_cast<double>(l.calls) / static_cast<double>(l.ops) : 0;
}

double lost_share(const Launches& l) {
  const auto all = static_cast<double>(l.answered + l.lost);
  return all > 0 ? static_cast<double>(l.lost) / all : 0;
}

bool is_of_nccl_plugin(const Trace& trace) {
  const auto writer = trace.metadata.texts.find("recorded_by");
  return writer != trace.metadata.texts.end() && writer->second == "stepscope nccl plugin";
}

// Moves the steps for which whole() is false to `out`.
template <class Whole>
void take(std::vector<Step>& steps, std::vector<Launches>& launches, std::vector<Step>& out,
          Whole&& whole) {
  std::vector<Step> kept;
  std::vector<Launches> kept_launches;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!whole(i)) {
      out.push_back(steps[i]);
      continue;
    }
    kept.push_back(steps[i]);
    kept_launches.push_back(launches[i]);
  }
  steps = std::move(kept);
  launches = std::move(kept_launches);
}

void take_cut(const std::vector<CaptureCut>& cuts, std::vector<Step>& steps,
              std::vector<Launches>& launches, std::vector<Step>& out) {
  const double calling = calls_by_op(*std::ranges::max_element(launches, {}, calls_by_op));
  const double usual =
      steps.size() > 1 ? lost_share(*std::ranges::min_element(launches, {}, lost_share)) : 0;
  take(steps, launches, out, [&](std::size_t i) {
    const Step& step = steps[i];
    const Ns end = std::max({step.end, step.host_end, launches[i].device_end});
    const bool followed =
        i + 1 == steps.size() || launches[i + 1].on_device || !launches[i].on_device;
    return std::ranges::all_of(cuts, [&](const CaptureCut& cut) {
      return step.host_start > cut.end || cut.complete_to == Ns::max() ||
             (end <= cut.complete_to && followed && !launches[i].hole &&
              lost_share(launches[i]) <= usual &&
              calls_by_op(launches[i]) >= least_calling * calling);
    });
  });
}

void take_lost(std::vector<Step>& steps, std::vector<Launches>& launches, std::vector<Step>& out) {
  const auto whole = [](const Launches& l) {
    const bool silent = l.ops > 0 && l.calls == 0 && !l.on_device;
    return !silent && lost_share(l) < most_lost_launches;
  };
  const bool some =
      std::ranges::any_of(launches, [&](const Launches& l) { return l.on_device && whole(l); });
  if (some) take(steps, launches, out, [&](std::size_t i) { return whole(launches[i]); });
}

}  // namespace

IncompleteSteps take_incomplete_steps(const Trace& trace, const RankIndex& rank,
                                      std::vector<Step>& steps) {
  IncompleteSteps out;
  const bool cut = !trace.notes.cuts.empty() && !is_of_nccl_plugin(trace);
  if (steps.empty() || (!cut && (rank.cpu_only() || steps.size() < 2))) return out;
  std::vector<Launches> launches = launches_of(trace, rank, steps);
  const bool whole =
      !cut && rank.lost_launches.empty() && std::ranges::all_of(launches, &Launches::on_device);
  if (whole) return out;
  count_rows(trace, steps, launches);
  if (cut) take_cut(trace.notes.cuts, steps, launches, out.cut);
  if (!rank.cpu_only()) take_lost(steps, launches, out.lost);
  return out;
}

}  // namespace stepscope
