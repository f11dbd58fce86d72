// SPDX-License-Identifier: Apache-2.0
// Annotations on the host name the steps. The device operations launched inside them bound the
// steps.
#include "stepscope/analysis/steps/steps.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

// The annotations of one thread: the main thread if it has any, else the thread with most of them.
std::vector<SliceId> annotations(const Trace& trace, const RankIndex& rank,
                                 const std::vector<bool>& wanted) {
  const Slices& s = trace.slices;
  std::vector<SliceId> best;
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    std::vector<SliceId> found;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (!wanted[index(s.name[i])] || !is_host_row(s.category[i])) continue;
      const bool nested = !found.empty() && s.start[i] + s.dur[i] <= s.end(found.back());
      if (!nested) found.push_back(SliceId{i});
    }
    if (id == rank.main_track && !found.empty()) return found;
    if (found.size() > best.size()) best = std::move(found);
  }
  return best;
}

// Uses the numbers of the names. If a name has no number or two are equal, all steps get ordinals.
void number_steps(std::vector<Step>& steps) {
  std::vector<std::int64_t> numbers;
  for (const Step& step : steps)
    if (const auto number = step_number(step.name)) numbers.push_back(*number);
  std::vector<std::int64_t> sorted = numbers;
  std::ranges::sort(sorted);
  const bool unique = std::ranges::adjacent_find(sorted) == sorted.end();
  const bool use = unique && numbers.size() == steps.size();
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps[i].index = use ? numbers[i] : static_cast<std::int64_t>(i);
}

// First start and last end of the device operations launched inside each annotation.
struct DeviceSpan {
  Ns start = Ns::max();
  Ns end = Ns::min();
};

std::vector<DeviceSpan> device_spans(const Trace& trace, const RankIndex& rank,
                                     const std::vector<Step>& steps) {
  std::vector<DeviceSpan> spans(steps.size());
  for (const SliceId op : rank.operations()) {
    const SliceId call = rank.launch(op);
    if (call == no_slice) continue;
    const auto step = step_of_host(steps, trace.slices.start[index(call)]);
    if (!step) continue;
    DeviceSpan& span = spans[*step];
    span.start = std::min(span.start, trace.slices.start[index(op)]);
    span.end = std::max(span.end, trace.slices.end(op));
  }
  return spans;
}

// The profiler's own rows, one for each recorded window.
std::vector<SliceId> recorded_windows(const Trace& trace) {
  std::vector<SliceId> windows;
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i)
    if (trace.slices.category[i] == Category::trace_window) windows.push_back(SliceId{i});
  return windows;
}

// True if one window contains the starts of both, or if the trace has one window.
bool in_one_window(const Trace& trace, const std::vector<SliceId>& windows, const Step& a,
                   const Step& b) {
  if (windows.size() < 2) return true;
  return std::ranges::any_of(windows, [&](SliceId window) {
    return trace.slices.start[index(window)] <= a.host_start &&
           b.host_start < trace.slices.end(window);
  });
}

void bound_steps(const Trace& trace, std::vector<Step>& steps,
                 const std::vector<DeviceSpan>& spans) {
  const std::vector<SliceId> windows = recorded_windows(trace);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool on_device = spans[i].end != Ns::min();
    steps[i].start = on_device ? spans[i].start : steps[i].host_start;
    if (i > 0) steps[i].start = std::max(steps[i].start, steps[i - 1].start);
    // Where the host runs ahead, the device is still busy with the step before.
    if (i > 0 && !on_device) steps[i].start = std::max(steps[i].start, spans[i - 1].end);
    steps[i].end = std::max({steps[i].start, steps[i].host_end, spans[i].end});
  }
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    // A gap in the numbers, or between two windows, was not profiled: it belongs to no step.
    const bool adjacent = steps[i + 1].index == steps[i].index + 1 &&
                          in_one_window(trace, windows, steps[i], steps[i + 1]);
    steps[i].end = adjacent ? steps[i + 1].start : std::min(steps[i].end, steps[i + 1].start);
  }
}

// Without a launch inside the marks, the device's time of a step is that of its mark. Whether more
// of the device's work begins elsewhere than the marks last: they do not show when its steps are.
bool marks_miss_the_work(const Trace& trace, const RankIndex& rank, const std::vector<Step>& steps,
                         const std::vector<DeviceSpan>& spans) {
  if (std::ranges::any_of(spans, [](const DeviceSpan& s) { return s.end != Ns::min(); }))
    return false;
  Ns marked{};
  for (const Step& s : steps) marked += s.host_end - s.host_start;
  Ns outside{};
  for (const SliceId op : rank.operations())
    if (!step_of_host(steps, trace.slices.start[index(op)])) outside += trace.slices.dur[index(op)];
  return outside > marked;
}

// A profiler that is stopped right after step() leaves the first rows of a step behind.
void drop_begun_step(std::vector<Step>& steps, std::vector<DeviceSpan>& spans) {
  if (steps.size() < 2 || spans.back().end != Ns::min()) return;
  const auto time = [](const Step& step) { return step.host_end - step.host_start; };
  for (std::size_t i = 0; i + 1 < steps.size(); ++i)
    if (spans[i].end == Ns::min() || 2 * time(steps.back()) >= time(steps[i])) return;
  steps.pop_back();
  spans.pop_back();
}

// PyTorch marks each update of the parameters ("Optimizer.step#AdamW.step"). In a trace whose steps
// have no rows, what lies between the ends of two updates is a step. What comes before the first
// update begins with the recording, and is one only if it is as long as the shortest of the others.
std::vector<Step> between_updates(const Trace& trace, const RankIndex& rank) {
  const auto updates = by_name(
      trace.strings, [](std::string_view name) { return name.starts_with("Optimizer.step#"); });
  std::vector<SliceId> rows = annotations(trace, rank, updates);
  std::vector<Step> steps;
  if (rows.empty()) return steps;
  // The last of several optimizers in a step ends it.
  const StringId last = trace.slices.name[index(rows.back())];
  std::erase_if(rows, [&](SliceId id) { return trace.slices.name[index(id)] != last; });
  Ns start = rank.start;
  for (const SliceId id : rows) {
    const Ns end = trace.slices.end(id);
    steps.push_back({.name = "update " + std::to_string(steps.size()),
                     .host_start = std::exchange(start, end),
                     .host_end = end});
  }
  if (steps.size() < 3) return {};
  const auto length = [](const Step& s) { return s.host_end - s.host_start; };
  const Ns shortest = std::ranges::min(steps | std::views::drop(1) | std::views::transform(length));
  if (length(steps.front()) < shortest) steps.erase(steps.begin());
  return steps;
}

Step whole_window(const Trace& trace, const RankIndex& rank) {
  Step step;
  step.name = "window";
  step.host_start = step.start = rank.start;
  step.host_end = step.end = rank.end;
  if (!rank.cpu_only()) {
    step.start = Ns::max();
    step.end = Ns::min();
    for (const DeviceLane& lane : rank.devices) {
      step.start = std::min(step.start, lane.start);
      step.end = std::max(step.end, lane.end);
    }
  } else if (rank.main_track) {
    const Track& track = trace.track(*rank.main_track);
    step.start = step.end = trace.slices.start[track.first];
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
      step.end = std::max(step.end, trace.slices.end(SliceId{i}));
    step.host_start = step.start;
    step.host_end = step.end;
  }
  return step;
}

}  // namespace

std::vector<Step> find_steps(const Trace& trace, const RankIndex& rank,
                             const StepOptions& options) {
  std::vector<Step> steps;
  if (trace.slices.size() == 0) return steps;
  const std::string name =
      options.annotation.empty() ? iteration_name(trace, rank) : options.annotation;
  std::string_view wanted = name;
  while (wanted.size() > 1 && wanted.back() == '#') wanted.remove_suffix(1);
  const auto names =
      by_name(trace.strings, [&](std::string_view text) { return names_step(text, wanted); });
  for (const SliceId id : annotations(trace, rank, names))
    steps.push_back({.name = std::string(trace.name(id)),
                     .host_start = trace.slices.start[index(id)],
                     .host_end = trace.slices.end(id)});
  if (steps.empty() && options.annotation.empty()) steps = between_updates(trace, rank);
  if (steps.empty()) return {whole_window(trace, rank)};
  number_steps(steps);
  std::vector<DeviceSpan> spans = device_spans(trace, rank, steps);
  if (options.annotation.empty() && marks_miss_the_work(trace, rank, steps, spans))
    return {whole_window(trace, rank)};
  drop_begun_step(steps, spans);
  bound_steps(trace, steps, spans);
  return steps;
}

OutsideSteps outside_steps(const RankIndex& rank, std::span<const Step> steps) {
  if (steps.empty()) return {.before = rank.end - rank.start};
  OutsideSteps outside{.before = steps.front().start - rank.start,
                       .after = rank.end - steps.back().end};
  for (std::size_t i = 1; i < steps.size(); ++i)
    outside.between += steps[i].start - steps[i - 1].end;
  return outside;
}

namespace {

// Position of the number in "name#12", "name 12", "name_12/100" and "name12", if `text` is such a
// name.
std::optional<std::size_t> number_behind(std::string_view text, std::size_t name_size) {
  const std::size_t at = text.find_first_not_of(" _-:=#[(", name_size);
  if (at == std::string_view::npos || !is_digit(text[at])) return std::nullopt;
  const std::size_t end = text.find_first_not_of("0123456789", at);
  if (end == std::string_view::npos || text[end] == '/') return at;
  return text.find_first_not_of(" ])", end) == std::string_view::npos ? std::optional(at)
                                                                      : std::nullopt;
}

// Names of ranges that are one iteration of training.
constexpr std::array<std::string_view, 14> iteration_words = {
    "step",           "iteration", "iter",        "train_step",      "training_step",
    "train_iter",     "batch",     "train_batch", "train_iteration", "training_iteration",
    "training_batch", "minibatch", "global_step", "training_iter"};

// The part of "Train Step 12" before the number if it is such a name; else empty.
std::string_view iteration_part(std::string_view text) {
  const std::size_t digit = std::min(text.find_first_of("0123456789"), text.size());
  std::string_view part = text.substr(0, digit);
  part = part.substr(0, part.find_last_not_of(" _-:=#[(") + 1);
  std::string word;
  for (const char c : part)
    word +=
        c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool known = std::ranges::find(iteration_words, word) != iteration_words.end();
  return known && names_step(text, part) ? part : std::string_view{};
}

}  // namespace

bool names_step(std::string_view text, std::string_view wanted) {
  if (text.substr(0, wanted.size()) != wanted || wanted.empty()) return false;
  if (text.size() == wanted.size() || text[wanted.size()] == '#') return true;
  const bool before_number = !is_alphanumeric(wanted.back());
  return before_number ? is_digit(text[wanted.size()])
                       : number_behind(text, wanted.size()).has_value();
}

std::optional<std::int64_t> step_number(std::string_view name) {
  const std::size_t hash = name.rfind('#');
  std::size_t at = hash + 1;
  if (hash == std::string_view::npos) {
    const std::size_t digit = name.find_first_of("0123456789");
    if (digit == std::string_view::npos) return std::nullopt;
    at = digit;
  }
  std::string_view rest = name.substr(at);
  const auto number = take_number<std::int64_t>(rest);
  constexpr std::int64_t largest = std::int64_t{1} << 53;  // largest number that JSON keeps exactly
  const bool whole = rest.empty() || (hash == std::string_view::npos && number_behind(name, at));
  return number && whole && *number >= -largest && *number <= largest ? number : std::nullopt;
}

std::string iteration_name(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  std::string best = "ProfilerStep";
  for (std::uint32_t i = 0; i < trace.strings.size(); ++i)
    if (names_step(trace.strings[StringId{i}], best)) return best;
  // The reader of XLA's profiles numbers the rows of jax.profiler.StepTraceAnnotation ("train#3").
  const bool numbered = trace.metadata.format == "xplane";
  const auto part_of = by_name(trace.strings, [&](std::string_view text) {
    const std::size_t hash = numbered ? text.rfind('#') : std::string_view::npos;
    return hash != std::string_view::npos && step_number(text) ? text.substr(0, hash)
                                                               : iteration_part(text);
  });
  Ns most{};
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    std::map<std::string_view, std::pair<std::size_t, Ns>> families;  // count, time
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const std::string_view part = part_of[index(s.name[i])];
      if (part.empty() || s.category[i] != Category::user_annotation) continue;
      ++families[part].first;
      families[part].second += s.dur[i];
    }
    for (const auto& [part, use] : families) {
      if (use.first < 2 || use.second <= most) continue;
      most = use.second;
      best = part;
    }
  }
  return best;
}

}  // namespace stepscope
