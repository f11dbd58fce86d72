// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/incomplete_steps.h"

#include <algorithm>

#include "stepscope/analysis/steps/step_at.h"

namespace stepscope {
namespace {

constexpr double least_calling = 0.9;  // calls of an operator, against the step with most

// Of one step.
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
  for (const DeviceLane& lane : rank.devices)
    for (const SliceId op : lane.ops) {
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
