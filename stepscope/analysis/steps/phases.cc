// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/phases.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "stepscope/analysis/steps/backward_graph.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/result.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Layers: compute, communication and copies by the phase of their launch, then the host.
constexpr std::size_t kinds = 4;
constexpr std::size_t communication_kind = 1;
constexpr std::size_t host_kind = 3;
using Sweep = IntervalSweep<kinds * phase_count>;

std::size_t layer(std::size_t kind, Phase phase) {
  return kind * phase_count + static_cast<std::size_t>(phase);
}

std::size_t kind_of(const Trace& trace, SliceId op) {
  if (trace.slices.category[index(op)] != Category::kernel) return 2;
  return trace.is_compute(op) ? 0 : communication_kind;
}

Phase phase_of(const Trace& trace, const RankIndex& rank, const HostPhases& phases, SliceId op) {
  const SliceId call = rank.launch(op);
  if (call == no_slice) return Phase::other;
  return phases.at(trace.slices.track[index(call)], trace.slices.start[index(call)]);
}

struct Picked {
  Phase phase = Phase::other;
  std::size_t kind = host_kind;
};

// The most frequent phase of the first kind with open intervals.
Picked pick(const Sweep::Open& open) {
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const auto first = open.begin() + static_cast<std::ptrdiff_t>(kind * phase_count);
    const auto most = std::max_element(first, first + phase_count);
    if (*most > 0) return {static_cast<Phase>(most - first), kind};
  }
  return {};
}

}  // namespace

Ns StepPhases::sum() const { return std::accumulate(time.begin(), time.end(), Ns{}); }

PhaseBudget phase_budget(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                         const HostPhases& phases, std::size_t device) {
  PhaseBudget budget;
  budget.steps.resize(steps.size());
  if (steps.empty()) return budget;
  Sweep sweep;
  for (const PhaseSpan& span : phases.host)
    sweep.add(layer(host_kind, span.phase), span.start, span.end);
  if (!rank.cpu_only())
    for (const SliceId op : rank.devices[device].ops)
      sweep.add(layer(kind_of(trace, op), phase_of(trace, rank, phases, op)),
                trace.slices.start[index(op)], trace.slices.end(op));
  StepCursor cursor(steps);
  sweep.run(steps.front().start, steps.back().end, [&](Ns start, Ns end, const Sweep::Open& open) {
    const auto [phase, kind] = pick(open);
    cursor.place(start, end, [&](std::size_t step, Ns from, Ns to) {
      budget.steps[step][phase] += to - from;
      if (kind == communication_kind)
        budget.steps[step].communication[static_cast<std::size_t>(phase)] += to - from;
    });
  });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    check(budget.steps[i].sum() == steps[i].end - steps[i].start,
          "the phases of a step sum to its wall time");
    for (std::size_t p = 0; p < phase_count; ++p) {
      budget.total.time[p] += budget.steps[i].time[p];
      budget.total.communication[p] += budget.steps[i].communication[p];
    }
  }
  return budget;
}

std::vector<PhaseSummary> summarize_phases(std::span<const StepPhases> steps, bool device) {
  std::vector<PhaseSummary> rows;
  std::vector<std::int64_t> times(steps.size());
  for (std::size_t p = 0; p < phase_count; ++p) {
    for (std::size_t i = 0; i < steps.size(); ++i) times[i] = steps[i].time[p].count();
    const std::optional<Summary> s = summarize(times);
    if (!s || s->max <= 0) continue;
    PhaseSummary& row = rows.emplace_back(
        PhaseSummary{static_cast<Phase>(p), s->count, s->mean, s->min, s->max, s->stdev, {}});
    if (!device) continue;
    Ns communication{};
    for (const StepPhases& step : steps) communication += step.communication[p];
    row.communication =
        static_cast<double>(communication.count()) / static_cast<double>(steps.size());
  }
  return rows;
}

namespace {

using Evidence = std::optional<Phase>;

// The phase of a row by its name and detail alone.
struct Said {
  Evidence phase;
  bool node = false;        // a node of the backward graph
  bool recomputes = false;  // such a node that computes a forward again
  bool certain = false;     // by the name of an annotation or operator, not of a Python frame
  bool by_number = false;   // of autograd's sequence
};

// An open row that changes the phase.
struct OpenRow {
  Ns end{};
  Phase phase = Phase::other;
  bool recomputes = false;  // a node of the backward graph that computes a forward again
};

// Forward inside backward is recompute if its name says so, or if a node that recomputes runs it.
// A loss inside the user's range "backward" is not.
Phase forward_inside(const OpenRow& around, const Said& said) {
  if (around.phase == Phase::recompute) return Phase::recompute;
  if (around.phase != Phase::backward) return around.phase;
  return said.certain || around.recomputes ? Phase::recompute : Phase::backward;
}

// The phase of a row inside another row.
Evidence inside(const OpenRow* around, const Said& said) {
  if (around == nullptr) return said.phase;
  if (!said.phase || around->phase == Phase::data) return around->phase;
  const bool over = around->phase != Phase::forward;  // continues even if forward is called
  if (*said.phase == Phase::forward && over) return forward_inside(*around, said);
  return said.phase;
}

// Appends; touching spans of one phase become one.
void append_span(std::vector<PhaseSpan>& spans, Ns start, Ns end, Phase phase) {
  if (start >= end) return;
  if (!spans.empty() && spans.back().end == start && spans.back().phase == phase)
    spans.back().end = end;
  else
    spans.push_back({start, end, phase});
}

// The open rows of one thread, outermost first.
class OpenRows {
 public:
  explicit OpenRows(std::vector<PhaseSpan>& spans) : spans_(spans) {}

  // The innermost row at `now`, after writing everything that ended before.
  const OpenRow* advance(Ns now) {
    while (!rows_.empty() && rows_.back().end <= now) {
      write(rows_.back().end);
      rows_.pop_back();
    }
    if (!rows_.empty()) write(now);
    cursor_ = now;
    return rows_.empty() ? nullptr : &rows_.back();
  }
  void open(const OpenRow& row) { rows_.push_back(row); }

 private:
  void write(Ns until) {
    if (until <= cursor_) return;
    append_span(spans_, cursor_, until, rows_.back().phase);
    cursor_ = until;
  }

  std::vector<PhaseSpan>& spans_;
  std::vector<OpenRow> rows_;
  Ns cursor_{};
};

Said said_by(const Trace& trace, const BackwardGraph& graph, std::uint32_t row,
             const std::vector<Evidence>& of_name) {
  const Category category = trace.slices.category[row];
  Said said;
  said.phase = of_name[index(trace.slices.name[row])];
  said.certain = said.phase && category != Category::python_function;
  said.by_number = !said.phase && graph.is_differentiated(row);
  if (said.by_number) said.phase = Phase::forward;
  if (!said.phase) return said;
  said.node = graph.is_node(row);
  said.recomputes = graph.recomputes(row);
  return said;
}

bool is_backward(Phase phase) { return phase == Phase::backward || phase == Phase::recompute; }

// For each step, the start of its last row of backward; Ns::min() without one.
std::vector<Ns> last_backward(const Trace& trace, const RankIndex& rank, const BackwardGraph& graph,
                              const std::vector<Evidence>& of_name, std::span<const Step> steps) {
  const Slices& s = trace.slices;
  std::vector<Ns> last(steps.size(), Ns::min());
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (!is_host_row(s.category[i])) continue;
      const Evidence& named = of_name[index(s.name[i])];
      if (named ? !is_backward(*named) : !graph.is_node(i)) continue;
      const std::size_t step = step_until(steps, s.start[i]);
      if (step < steps.size()) last[step] = std::max(last[step], s.start[i]);
    }
  }
  return last;
}

// Whether the gradients of an instant's step are complete: autograd gives numbers to what follows,
// too (the mean of the gradients, clipping), but no backward of it comes.
bool after_backward(std::span<const Step> steps, const std::vector<Ns>& last, Ns instant) {
  const std::size_t step = step_until(steps, instant);
  return step < steps.size() && last[step] != Ns::min() && instant >= last[step];
}

// `bare` collects operators without a known phase around them.
std::vector<PhaseSpan> read_thread(const Trace& trace, const BackwardGraph& graph,
                                   const Track& track, const std::vector<Evidence>& of_name,
                                   std::span<const Step> steps, const std::vector<Ns>& last,
                                   std::vector<HostSpan>& bare) {
  const Slices& s = trace.slices;
  std::vector<PhaseSpan> spans;
  OpenRows open(spans);
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (!is_host_row(s.category[i])) continue;
    Said said = said_by(trace, graph, i, of_name);
    if (!said.phase && s.category[i] != Category::cpu_op) continue;
    const Ns end = s.start[i] + s.dur[i];
    const OpenRow* around = open.advance(s.start[i]);
    if (around == nullptr && said.by_number && after_backward(steps, last, s.start[i])) said = {};
    const Evidence now = inside(around, said);
    if (!now) {
      extend(bare, s.start[i], end, SliceId{i});
    } else if (around == nullptr || *now != around->phase || said.node) {
      open.open({end, *now, said.recomputes});
    }
  }
  open.advance(Ns::max());
  return spans;
}

bool runs_backward(const std::vector<PhaseSpan>& spans) {
  return std::ranges::any_of(spans, is_backward, &PhaseSpan::phase);
}

// Later layers win where threads differ: the main thread waits in "backward" while another thread
// does the rest.
constexpr std::array<Phase, 5> layer_phases = {Phase::forward, Phase::backward, Phase::data,
                                               Phase::optimizer, Phase::recompute};
std::size_t layer_of(Phase phase) {
  return static_cast<std::size_t>(std::ranges::find(layer_phases, phase) - layer_phases.begin());
}

std::vector<PhaseSpan> join_threads(const RankIndex& rank,
                                    const std::vector<std::vector<PhaseSpan>>& threads,
                                    const std::vector<PhaseSpan>& bare_forward) {
  IntervalSweep<layer_phases.size()> sweep;
  for (const TrackId id : rank.host_tracks) {
    const auto& spans = threads[index(id)];
    if (id != rank.main_track && !runs_backward(spans)) continue;
    for (const PhaseSpan& span : spans) sweep.add(layer_of(span.phase), span.start, span.end);
  }
  for (const PhaseSpan& span : bare_forward) sweep.add(layer_of(span.phase), span.start, span.end);
  std::vector<PhaseSpan> host;
  sweep.run(rank.start, rank.end, [&](Ns start, Ns end, const auto& open) {
    for (std::size_t layer = layer_phases.size(); layer-- > 0;) {
      if (open[layer] == 0) continue;
      append_span(host, start, end, layer_phases[layer]);
      return;
    }
  });
  return host;
}

// Closes the gaps between two spans of one phase in one step.
std::vector<PhaseSpan> fill(const std::vector<PhaseSpan>& spans, std::span<const Step> steps) {
  std::vector<PhaseSpan> filled;
  for (const PhaseSpan& span : spans) {
    const std::size_t step = step_until(steps, span.start);
    const bool same = !filled.empty() && filled.back().phase == span.phase && step < steps.size() &&
                      filled.back().end > steps[step].host_start;
    append_span(filled, same ? filled.back().end : span.start, span.end, span.phase);
  }
  return filled;
}

// `known`: the spans of the same thread. An operator between two of them in one phase is left out,
// because it belongs to that phase (fill), and so is one before data is loaded.
std::vector<PhaseSpan> forward_of(const std::vector<HostSpan>& bare,
                                  std::span<const PhaseSpan> known, std::span<const Step> steps,
                                  const std::vector<Ns>& last) {
  std::vector<PhaseSpan> forward;
  for (const HostSpan& span : bare) {
    const std::size_t step = step_until(steps, span.start);
    if (step == steps.size() || span.start < steps[step].host_start || span.start >= last[step])
      continue;
    const auto after = std::ranges::upper_bound(known, span.start, {}, &PhaseSpan::start);
    const bool follows = after != known.end() && after->start < steps[step].host_end;
    const bool within = follows && after != known.begin() && (after - 1)->phase == after->phase &&
                        (after - 1)->start >= steps[step].host_start;
    const bool before_data = follows && after->phase == Phase::data;
    if (within || before_data) continue;
    forward.push_back({span.start, span.end, Phase::forward});
  }
  return forward;
}

}  // namespace

std::optional<Phase> phase_at(std::span<const PhaseSpan> spans, Ns instant) {
  const auto after = std::ranges::upper_bound(spans, instant, {}, &PhaseSpan::start);
  if (after == spans.begin() || (after - 1)->end <= instant) return std::nullopt;
  return (after - 1)->phase;
}

Phase HostPhases::at(TrackId thread, Ns instant) const {
  if (const auto own = phase_at(threads[index(thread)], instant)) return *own;
  return phase_at(host, instant).value_or(Phase::other);
}

HostPhases host_phases(const Trace& trace, const RankIndex& rank, std::span<const Step> steps) {
  const std::vector<Evidence> of_name = phases_of_names(trace.strings);
  const BackwardGraph graph(trace, rank);
  const PhaseRanges ranges(trace, rank, steps);
  const std::vector<Ns> last = last_backward(trace, rank, graph, of_name, steps);
  HostPhases phases;
  phases.threads.resize(trace.tracks.size());
  std::vector<HostSpan> bare;
  for (const TrackId id : rank.host_tracks) {
    std::vector<HostSpan> found;
    phases.threads[index(id)] =
        ranges.allowed(read_thread(trace, graph, trace.track(id), of_name, steps, last, found));
    if (id == rank.main_track) bare = std::move(found);
  }
  std::vector<PhaseSpan> forward;
  if (rank.main_track)
    forward =
        ranges.allowed(forward_of(bare, phases.threads[index(*rank.main_track)], steps, last));
  phases.host = ranges.allowed(fill(join_threads(rank, phases.threads, forward), steps));
  return phases;
}

}  // namespace stepscope
