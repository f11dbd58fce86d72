// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/pipeline_bubble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "stepscope/analysis/budget/cpu_budget.h"
#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// A stretch of computing and the phase of its launch.
struct Computing {
  Ns start{};
  Ns end{};
  Phase phase = Phase::other;
};

// Instants of one rank's messages within one step: arrivals of received ones, handovers of sent
// ones.
struct Messages {
  std::vector<Ns> forward_in;
  std::vector<Ns> forward_out;
  std::vector<Ns> backward_in;
  std::vector<Ns> backward_out;

  void sort() {
    for (auto* of : {&forward_in, &forward_out, &backward_in, &backward_out})
      std::ranges::sort(*of);
  }
};

// One rank's part of one step.
struct Passes {
  StageStep step;  // before its pipeline's bounds are known
  int count = 0;   // forward passes
  std::optional<int> micro_batches;
  std::optional<int> warm_up;  // forwards before the first backward
};

std::vector<Computing> computing_on_host(const RankView& view, const HostPhases& phases) {
  std::vector<Computing> all;
  for (const CpuWork& work : cpu_work(*view.trace, *view.index))
    for (const HostSpan& span : work.computing)
      all.push_back({span.start, span.end, phases.at(work.thread, span.start)});
  std::ranges::stable_sort(all, {}, &Computing::start);
  return all;
}

std::vector<Computing> computing_of(const RankView& view, const HostPhases& phases,
                                    std::size_t device) {
  if (view.index->cpu_only()) return computing_on_host(view, phases);
  std::vector<Computing> all;
  const Trace& trace = *view.trace;
  for (const SliceId op : view.index->devices[device].ops) {
    const Ns start = trace.slices.start[index(op)];
    const Ns end = trace.slices.end(op);
    if (end <= start || !trace.is_compute(op)) continue;
    const SliceId call = view.index->launch(op);
    const Phase phase = call == no_slice ? Phase::other
                                         : phases.at(trace.slices.track[index(call)],
                                                     trace.slices.start[index(call)]);
    all.push_back({start, end, phase});
  }
  return all;
}

// The stages are a ring: a message from the last stage to the first also goes forward (interleaved
// chunks).
bool goes_forward(int from, int to, int stages) {
  return stages == 2 ? to > from : to == (from + 1) % stages;
}
bool goes_backward(int from, int to, int stages) { return goes_forward(to, from, stages); }

class ViewPasses {
  const RankView& view_;
  PipelinePlace place_;
  int stages_;
  std::vector<Messages> messages_;  // by step
  std::vector<Computing> computing_;

 public:
  ViewPasses(const PipelineInputs& in, const Pipelines& pipelines, std::uint32_t view)
      : view_(in.views[view]),
        place_(*pipelines.of_view[view]),
        stages_(static_cast<int>(pipelines.ranks[place_.pipeline].size())) {
    messages_.resize(view_.steps.size());
    find_messages(in.collectives.matches.ranks[view], in.collectives.dimension_of, pipelines);
    const bool any =
        std::ranges::any_of(messages_, [](const Messages& m) { return passes_of(m) > 0; });
    if (any) computing_ = computing_of(view_, in.phases[view], in.devices[view]);
  }

  // Steps in which the rank takes part in the pipeline. `unclear` counts steps whose compute does
  // not fit the messages.
  std::vector<Passes> find(std::size_t& unclear) const {
    std::vector<Passes> all;
    for (std::uint32_t s = 0; s < view_.steps.size(); ++s) {
      if (passes_of(messages_[s]) == 0) continue;
      if (const auto passes = passes_in(s))
        all.push_back(*passes);
      else
        ++unclear;
    }
    return all;
  }

 private:
  static std::size_t passes_of(const Messages& m) {
    return std::max(m.forward_in.size(), m.forward_out.size());
  }

  [[nodiscard]] bool is_first() const { return place_.stage == 0; }
  [[nodiscard]] bool is_last() const { return place_.stage == stages_ - 1; }

  std::vector<Ns>* at(std::vector<Ns> Messages::* list, Ns instant) {
    const auto after = std::ranges::upper_bound(view_.steps, instant, {}, &Step::start);
    if (after == view_.steps.begin() || instant > (after - 1)->end) return nullptr;
    return &(messages_[static_cast<std::size_t>(after - 1 - view_.steps.begin())].*list);
  }

  // Counts a fused call once in each direction, however many tensors it moves.
  void find_messages(const RankCalls& calls, std::span<const Dimension> dimension_of,
                     const Pipelines& pipelines) {
    for (const CollectiveCall& call : calls.calls) {
      if (!is_stage_message(call, dimension_of)) continue;
      std::array<bool, 4> seen{};
      for (const P2pEdge& edge : calls.edges_of(call)) {
        const auto from = pipelines.stage_of(place_.pipeline, edge.src);
        const auto to = pipelines.stage_of(place_.pipeline, edge.dst);
        if (!from || !to) continue;
        const bool out = edge.src == view_.rank;
        if (goes_forward(*from, *to, stages_)) seen[out ? 1 : 0] = true;
        if (goes_backward(*from, *to, stages_)) seen[out ? 3 : 2] = true;
      }
      const std::array lists = {&Messages::forward_in, &Messages::forward_out,
                                &Messages::backward_in, &Messages::backward_out};
      for (std::size_t i = 0; i < lists.size(); ++i) {
        const Ns instant = i % 2 == 0 ? call.end : call.start;
        if (!seen[i]) continue;
        if (std::vector<Ns>* list = at(lists[i], instant)) list->push_back(instant);
      }
    }
    for (Messages& m : messages_) m.sort();
  }

  std::span<const Computing> within(Ns from, Ns to) const {
    const auto first = std::ranges::lower_bound(computing_, from, {}, &Computing::start);
    const auto last = std::ranges::lower_bound(first, computing_.end(), to, {}, &Computing::start);
    return {first, last};
  }

  std::optional<Ns> first_forward(const Step& step, const Messages& m) const {
    const Ns from = is_first() || m.forward_in.empty() ? step.start : m.forward_in.front();
    const auto all = within(from, step.end);
    if (all.empty()) return std::nullopt;
    if (is_first())
      for (const Computing& c : all)
        if (c.phase == Phase::forward) return c.start;
    return all.front().start;
  }

  std::optional<Ns> last_backward(const Step& step, const Messages& m) const {
    std::optional<Ns> of_phase;
    std::optional<Ns> before_message;
    std::optional<Ns> last;
    const bool trains = !m.backward_in.empty() || !m.backward_out.empty();
    const std::vector<Ns>& out = trains ? m.backward_out : m.forward_out;
    const bool ends_with_message = !out.empty() && !(trains ? is_first() : is_last());
    for (const Computing& c : within(step.start, step.end)) {
      last = std::max(last.value_or(c.end), c.end);
      if (c.phase == Phase::backward || c.phase == Phase::recompute) of_phase = last;
      if (ends_with_message && c.end <= out.back()) before_message = last;
    }
    if (trains && of_phase) return of_phase;
    return before_message ? before_message : last;
  }

  std::optional<int> warm_up(const Messages& m, Ns first, Ns last) const {
    if (m.backward_in.empty() && m.backward_out.empty()) return std::nullopt;
    std::optional<Ns> backward;
    for (const Computing& c : within(first, last)) {
      if (c.phase != Phase::backward && c.phase != Phase::recompute) continue;
      backward = c.start;
      break;
    }
    if (!backward) {
      const std::vector<Ns>& gradients = is_last() ? m.backward_out : m.backward_in;
      if (gradients.empty()) return std::nullopt;
      backward = gradients.front();
    }
    const std::vector<Ns>& forwards = is_last() ? m.forward_in : m.forward_out;
    return static_cast<int>(std::ranges::upper_bound(forwards, *backward) - forwards.begin());
  }

  std::optional<Passes> passes_in(std::uint32_t step) const {
    const Messages& m = messages_[step];
    const auto first = first_forward(view_.steps[step], m);
    const auto last = last_backward(view_.steps[step], m);
    if (!first || !last || *last <= *first) return std::nullopt;
    Passes p;
    p.step.index = view_.steps[step].index;
    p.step.begin = p.step.first_forward = *first;
    p.step.end = p.step.last_backward = *last;
    const auto in = static_cast<int>(m.forward_in.size());
    const auto out = static_cast<int>(m.forward_out.size());
    p.count = std::max(in, out);
    if (is_first() && out > in) p.micro_batches = out - in;
    if (is_last() && in > out) p.micro_batches = in - out;
    p.warm_up = warm_up(m, *first, *last);
    return p;
  }
};

// A split that separates exposed stage messages from all other exposed communication. For the
// budget, messages count as waiting or as transferring, whatever they do.
CommSplit with_messages(const CommSplit& split, const RankView& view, const RankCalls& calls,
                        std::span<const Dimension> dimension_of, bool waiting) {
  CommSplit changed = split;
  std::set<SliceId> messages;
  for (const CollectiveCall& call : calls.calls)
    if (is_stage_message(call, dimension_of)) messages.insert(call.slice);
  for (CommSpan& span : changed.spans) {
    if (!messages.contains(span.slice)) continue;
    span.split = true;
    span.transfer_start =
        waiting ? view.trace->slices.end(span.slice) : view.trace->slices.start[index(span.slice)];
  }
  return changed;
}

// During its passes a thread runs what has no row between its operators: that is a part of a pass.
Ns idle_of(const Budget& budget, bool passes_on_host) {
  Ns sum{};
  for (std::size_t c = 0; c < budget_category_count; ++c)
    if (is_idle(static_cast<BudgetCategory>(c))) sum += budget.time[c];
  return passes_on_host ? sum - budget[BudgetCategory::idle_host] : sum;
}

// Fills the times of steps whose bounds are set. Fill, between and drain of each step get budgets
// of their own.
void measure(const PipelineInputs& in, std::size_t device, StageBubble& stage) {
  using enum BudgetCategory;
  const RankView& view = in.views[stage.view];
  std::vector<Step> windows;
  for (const StageStep& s : stage.steps)
    for (const auto& [from, to] :
         {std::pair(s.begin, s.first_forward), std::pair(s.first_forward, s.last_backward),
          std::pair(s.last_backward, s.end)}) {
      Step& window = windows.emplace_back();
      window.start = from;
      window.end = to;
    }
  const auto& split = in.collectives.splits[stage.view];
  const auto& calls = in.collectives.matches.ranks[stage.view];
  const auto budget_with = [&](bool waiting) {
    return time_budget(*view.trace, *view.index, windows,
                       with_messages(split, view, calls, in.collectives.dimension_of, waiting));
  };
  const TimeBudget messages_wait = budget_with(true);
  const TimeBudget messages_move = budget_with(false);
  const auto& waiting = messages_wait.devices[device].steps;
  const auto& moving = messages_move.devices[device].steps;
  for (std::size_t i = 0; i < stage.steps.size(); ++i) {
    StageTimes& t = stage.steps[i].times;
    const std::array parts = {&t.fill, &t.between, &t.drain};
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Budget& budget = waiting[3 * i + k];
      parts[k]->idle = idle_of(budget, k == 1 && view.index->cpu_only());
      parts[k]->wait = moving[3 * i + k][comm_exposed_wait];
      parts[k]->message = budget[comm_exposed_wait] - parts[k]->wait;
      const Ns work = budget.sum() - parts[k]->sum();
      t.work += work;
      if (k == 1) t.passes = work;
    }
    t.wall = stage.steps[i].end - stage.steps[i].begin;
    stage.total += t;
  }
}

class Builder {
  const PipelineInputs& in_;
  Pipelines pipelines_;
  PipelineBubble out_;
  std::vector<std::vector<Passes>> passes_;  // parallel to out_.ranks
  std::size_t unclear_ = 0;

 public:
  explicit Builder(const PipelineInputs& inputs)
      : in_(inputs),
        pipelines_(find_pipelines(inputs.views, inputs.collectives.matches,
                                  inputs.collectives.dimension_of)) {}

  std::optional<PipelineBubble> build() {
    for (std::uint32_t v = 0; v < in_.views.size(); ++v) add_view(v);
    if (out_.ranks.empty()) return std::nullopt;
    for (const StageBubble& r : out_.ranks)
      out_.stages = std::max(out_.stages, static_cast<int>(pipelines_.ranks[r.pipeline].size()));
    find_bounds();
    find_shape();
    find_missing();
    shared_for(out_.ranks, in_.workers, Distribution::blocks, [&](std::size_t i) {
      const std::uint32_t view = out_.ranks[i].view;
      work_on_input(view, [&] { measure(in_, in_.devices[view], out_.ranks[i]); });
    });
    std::ranges::stable_sort(out_.ranks, {}, [](const StageBubble& s) {
      return std::tuple(s.pipeline, s.stage, s.rank);
    });
    return std::move(out_);
  }

 private:
  void add_view(std::uint32_t view) {
    if (!pipelines_.of_view[view] || in_.views[view].steps.empty()) return;
    std::vector<Passes> passes = ViewPasses(in_, pipelines_, view).find(unclear_);
    if (passes.empty()) return;
    const PipelinePlace place = *pipelines_.of_view[view];
    StageBubble stage{.view = view,
                      .rank = in_.views[view].rank,
                      .pipeline = place.pipeline,
                      .stage = place.stage,
                      .steps = {},
                      .total = {}};
    for (const Passes& p : passes) stage.steps.push_back(p.step);
    out_.ranks.push_back(std::move(stage));
    passes_.push_back(std::move(passes));
  }

  // Bounds of each pipeline's step: over all its stages if their clocks can be compared.
  void find_bounds() {
    if (in_.collectives.matches.clocks_comparable)
      bound_by_pipeline();
    else
      out_.warnings.push_back(msg::stage_clocks_differ());
    for (StageBubble& stage : out_.ranks) keep_apart(stage.steps);
  }

  // A step's last computation may end after the next step's first has begun.
  static void keep_apart(std::vector<StageStep>& steps) {
    for (std::size_t i = 1; i < steps.size(); ++i)
      steps[i - 1].end = std::min(steps[i - 1].end, steps[i].begin);
    for (StageStep& s : steps)
      s.last_backward = std::clamp(s.last_backward, s.first_forward, s.end);
  }

  void bound_by_pipeline() {
    std::map<std::pair<std::uint32_t, std::int64_t>, std::pair<Ns, Ns>> bounds;
    for (const StageBubble& stage : out_.ranks)
      for (const StageStep& s : stage.steps) {
        auto& [begin, end] =
            bounds.try_emplace({stage.pipeline, s.index}, s.begin, s.end).first->second;
        begin = std::min(begin, s.begin);
        end = std::max(end, s.end);
      }
    for (StageBubble& stage : out_.ranks) {
      Ns after = Ns::min();
      for (StageStep& s : stage.steps) {
        std::tie(s.begin, s.end) = bounds.at({stage.pipeline, s.index});
        // Without a flush the next step's first forward comes before this step's last backward.
        s.begin = std::min(std::max(s.begin, after), s.first_forward);
        after = s.end;
      }
    }
  }

  void find_shape() {
    std::map<int, std::size_t> counts;
    std::map<int, std::size_t> batches;
    std::map<std::pair<int, int>, std::size_t> warm_ups;  // stage, forwards
    for (std::size_t r = 0; r < out_.ranks.size(); ++r)
      for (const Passes& p : passes_[r]) {
        ++counts[p.count];
        if (p.micro_batches) ++batches[*p.micro_batches];
        if (p.warm_up) ++warm_ups[{out_.ranks[r].stage, *p.warm_up}];
      }
    out_.passes = most_frequent(counts);
    out_.micro_batches = most_frequent(batches);
    if (counts.size() > 1 || batches.size() > 1) out_.warnings.push_back(msg::passes_differ());
    if (out_.passes && out_.micro_batches && *out_.passes % *out_.micro_batches == 0)
      out_.chunks = *out_.passes / *out_.micro_batches;
    if (!out_.chunks) return;
    std::vector<StageWarmUp> seen;
    for (int stage = 0; stage < out_.stages; ++stage) {
      std::map<int, std::size_t> of_stage;
      for (const auto& [key, count] : warm_ups)
        if (key.first == stage) of_stage[key.second] += count;
      if (const auto forwards = most_frequent(of_stage)) seen.push_back({stage, *forwards});
    }
    out_.schedule = recognise_schedule(out_.stages, *out_.micro_batches, *out_.chunks, seen);
  }

  void find_missing() {
    std::map<std::uint32_t, std::set<int>> traced;  // stages, by pipeline
    for (const StageBubble& r : out_.ranks) traced[r.pipeline].insert(r.stage);
    for (int stage = 0; stage < out_.stages; ++stage)
      if (std::ranges::any_of(traced, [&](const auto& p) {
            return stage < std::ssize(pipelines_.ranks[p.first]) && !p.second.contains(stage);
          }))
        out_.missing.push_back(stage);
    if (!out_.missing.empty()) out_.warnings.push_back(msg::stages_not_traced());
    if (unclear_ > 0) out_.warnings.push_back(msg::steps_without_compute(unclear_));
  }
};

}  // namespace

BubblePart& BubblePart::operator+=(const BubblePart& other) {
  idle += other.idle;
  message += other.message;
  wait += other.wait;
  return *this;
}

StageTimes& StageTimes::operator+=(const StageTimes& other) {
  wall += other.wall;
  work += other.work;
  passes += other.passes;
  fill += other.fill;
  between += other.between;
  drain += other.drain;
  return *this;
}

std::optional<Ns> PipelineBubble::by_schedule(const StageBubble& stage) const {
  if (!passes) return std::nullopt;
  return bubble_by_schedule(stages, *passes, stage.total.passes);
}

bool is_stage_message(const CollectiveCall& call, std::span<const Dimension> dimension_of) {
  return call.group < dimension_of.size() && dimension_of[call.group] == Dimension::pp &&
         (call.edge_count > 0 || is_message(call.kind));
}

std::optional<PipelineBubble> pipeline_bubble(const PipelineInputs& inputs) {
  return Builder(inputs).build();
}

std::string_view words_of(PipelineSchedule schedule) {
  constexpr std::array<std::string_view, pipeline_schedule_names.size()> words = {
      "unknown order", "GPipe", "1F1B", "interleaved"};
  return words[static_cast<std::size_t>(schedule)];
}

PipelineSchedule recognise_schedule(int stages, int micro_batches, int chunks,
                                    std::span<const StageWarmUp> stages_seen) {
  if (stages_seen.empty()) return PipelineSchedule::unknown;
  int all_first = 0;  // distance from GPipe
  int in_turn = 0;    // distance from 1F1B, interleaved if there are chunks
  const int passes = micro_batches * chunks;
  for (const StageWarmUp& w : stages_seen) {
    const int behind = stages - 1 - w.stage;
    const int warm_up = chunks == 1 ? behind + 1 : 2 * behind + (chunks - 1) * stages + 1;
    all_first += std::abs(w.forwards - passes);
    in_turn += std::abs(w.forwards - std::min(passes, warm_up));
  }
  if (std::min(all_first, in_turn) > std::ssize(stages_seen)) return PipelineSchedule::unknown;
  if (all_first <= in_turn) return PipelineSchedule::gpipe;
  return chunks == 1 ? PipelineSchedule::one_f_one_b : PipelineSchedule::interleaved;
}

Ns bubble_by_schedule(int stages, int passes, Ns work) {
  const double share = static_cast<double>(stages - 1) / static_cast<double>(passes);
  return Ns{std::llround(share * static_cast<double>(work.count()))};
}

namespace {

struct Joined {
  std::set<int> ranks;
  const std::vector<int>* largest = nullptr;
};

// Sets of ranks connected by groups of the pipeline dimension.
std::vector<Joined> join_groups_of(const CollectiveMatches& matches,
                                   std::span<const Dimension> dimension_of) {
  std::vector<Joined> all;
  for (std::size_t g = 0; g < matches.groups.size() && g < dimension_of.size(); ++g) {
    const std::vector<int>& ranks = matches.groups[g].ranks;
    if (dimension_of[g] != Dimension::pp || ranks.size() < 2) continue;
    Joined joined{.ranks = {ranks.begin(), ranks.end()}, .largest = &ranks};
    std::erase_if(all, [&](const Joined& other) {
      const bool shared =
          std::ranges::any_of(ranks, [&](int r) { return other.ranks.contains(r); });
      if (!shared) return false;
      joined.ranks.insert(other.ranks.begin(), other.ranks.end());
      if (other.largest->size() >= joined.largest->size()) joined.largest = other.largest;
      return true;
    });
    all.push_back(std::move(joined));
  }
  return all;
}

}  // namespace

std::optional<int> Pipelines::stage_of(std::uint32_t pipeline, int rank) const {
  const auto at = std::ranges::find(ranks[pipeline], rank);
  if (at == ranks[pipeline].end()) return std::nullopt;
  return static_cast<int>(at - ranks[pipeline].begin());
}

Pipelines find_pipelines(std::span<const RankView> views, const CollectiveMatches& matches,
                         std::span<const Dimension> dimension_of) {
  Pipelines found;
  for (const Joined& joined : join_groups_of(matches, dimension_of)) {
    if (joined.largest->size() == joined.ranks.size())
      found.ranks.push_back(*joined.largest);
    else
      found.ranks.emplace_back(joined.ranks.begin(), joined.ranks.end());
  }
  std::ranges::sort(found.ranks);
  for (const RankView& view : views) {
    auto& place = found.of_view.emplace_back();
    for (std::uint32_t p = 0; p < found.ranks.size() && !place; ++p)
      if (const auto stage = found.stage_of(p, view.rank)) place = PipelinePlace{p, *stage};
  }
  return found;
}

}  // namespace stepscope
