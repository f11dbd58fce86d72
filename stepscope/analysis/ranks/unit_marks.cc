// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/unit_marks.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "stepscope/analysis/budget/cpu_budget.h"
#include "stepscope/analysis/steps/steps.h"

namespace stepscope {
namespace {

enum class Mark : std::uint8_t {
  none,
  engine_pass,
  engine_parameters,
  engine_gradients,
  fsdp2_pre_forward,
  fsdp2_pre_backward,
  fsdp2_gather,
  fsdp2_copy_out,
  fsdp2_reduce,
  fsdp1_pre_forward,
  fsdp1_pre_backward,
  fsdp1_prefetch,
  fsdp1_reduce,
  deepspeed_fetch,
  deepspeed_reduce,
};

struct NameMark {
  Mark mark = Mark::none;
  UnitPass pass = UnitPass::forward;
  UnitSource source = UnitSource::none;  // that the name shows
  std::string_view unit{};
};

struct Known {
  std::string_view name;
  NameMark mark;
};

constexpr auto known_names = [] {
  using enum UnitPass;
  using enum UnitSource;
  return std::to_array<Known>({
      {"FSDP::pre_forward", {Mark::fsdp2_pre_forward}},
      {"FSDP::pre_backward", {Mark::fsdp2_pre_backward, backward}},
      {"FSDP::all_gather", {Mark::fsdp2_gather, forward, fsdp2}},
      {"FSDP::all_gather_copy_out", {Mark::fsdp2_copy_out}},
      {"FSDP::post_backward_reduce", {Mark::fsdp2_reduce, forward, fsdp2}},
      {"FullyShardedDataParallel._pre_forward", {Mark::fsdp1_pre_forward, forward, fsdp1}},
      {"FullyShardedDataParallel._pre_backward_hook", {Mark::fsdp1_pre_backward, backward, fsdp1}},
      {"FullyShardedDataParallel._pre_forward_prefetch", {Mark::fsdp1_prefetch}},
      {"FullyShardedDataParallel._pre_backward_prefetch", {Mark::fsdp1_prefetch}},
      {"FullyShardedDataParallel._post_backward_prefetch", {Mark::fsdp1_prefetch}},
      {"FullyShardedDataParallel._post_backward_hook", {Mark::fsdp1_reduce}},
  });
}();
// The names of rows over a unit of the engine and of DeepSpeed's coordinator:
// "…/partitioned_param_coordinator.py(273): fetch_sub_module" or a qualified name. The words of
// passes are too common to show the engine.
constexpr auto known_ends = [] {
  using enum UnitPass;
  using enum UnitSource;
  return std::to_array<Known>({
      {" fetch_sub_module", {Mark::deepspeed_fetch, forward, deepspeed}},
      {".fetch_sub_module", {Mark::deepspeed_fetch, forward, deepspeed}},
      {"__reduce_and_partition_ipg_grads", {Mark::deepspeed_reduce, backward}},
      {" forward", {Mark::engine_pass, forward}},
      {" backward", {Mark::engine_pass, backward}},
      {" recompute", {Mark::engine_pass, backward}},
      {" parameters", {Mark::engine_parameters, forward, stepscope}},
      {" gradients", {Mark::engine_gradients, forward, stepscope}},
  });
}();

NameMark mark_of(std::string_view name) {
  if (name.starts_with("FSDP::") || name.starts_with("FullyShardedDataParallel.")) {
    // "FSDP::all_gather (layers.3)": the name and its unit; without a unit that of the root.
    const std::size_t open = name.starts_with("FSDP::") ? name.find(" (") : std::string_view::npos;
    const auto at = std::ranges::find(known_names, name.substr(0, open), &Known::name);
    if (at == known_names.end()) return {};
    NameMark mark = at->mark;
    mark.unit = "root";
    if (open != std::string_view::npos && name.ends_with(')'))
      mark.unit = name.substr(open + 2, name.size() - open - 3);
    return mark;
  }
  for (const Known& known : known_ends)
    if (name.ends_with(known.name)) {
      NameMark mark = known.mark;
      mark.unit = name.substr(0, name.size() - known.name.size());
      return mark;
    }
  return {};
}

struct Row {
  SliceId slice = no_slice;
  Ns start{};
  Ns end{};
  TrackId thread{};
  NameMark name;
};

class MarkFinder {
  struct Asked {
    TrackId thread{};
    Ns at{};
    std::uint32_t call = 0;
  };
  const RankView& view_;
  const Trace& trace_;
  const std::vector<CollectiveCall>& calls_;
  const HostPhases& phases_;
  StreamOps use_stream_;
  struct Pending {
    std::size_t row = 0;  // of rows_; the row that requested the call
    std::uint32_t call = 0;
  };
  std::vector<Pending> pending_;
  std::vector<bool> taken_;   // by call
  std::vector<Row> rows_;     // by start, outer first
  std::vector<Asked> asked_;  // by thread, then instant
  std::map<std::string, std::uint32_t, std::less<>> unit_rows_;
  UnitMarks out_;

 public:
  MarkFinder(const RankView& view, const RankCalls& rank, const HostPhases& phases)
      : view_(view),
        trace_(*view.trace),
        calls_(rank.calls),
        phases_(phases),
        use_stream_(compute_stream(view)),
        taken_(rank.calls.size()) {}

  UnitMarks run() {
    find_rows();
    if (out_.source == UnitSource::none || view_.steps.empty()) return {};
    order_calls();
    switch (out_.source) {
      case UnitSource::stepscope:
        engine();
        break;
      case UnitSource::fsdp2:
        fsdp2_units();
        break;
      default:
        numbered_units();
    }
    if (out_.uses.empty() && out_.reductions.empty()) return {};
    number_chains();
    return std::move(out_);
  }

 private:
  void find_rows() {
    std::vector<NameMark> marks(trace_.strings.size());
    bool any = false;
    for (std::uint32_t i = 0; i < marks.size(); ++i) {
      marks[i] = mark_of(trace_.strings[StringId{i}]);
      any = any || marks[i].source != UnitSource::none;
    }
    if (!any) return;
    const Slices& s = trace_.slices;
    for (const TrackId id : view_.index->host_tracks) {
      const Track& track = trace_.track(id);
      for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
        const NameMark& mark = marks[index(s.name[i])];
        if (mark.mark == Mark::none) continue;
        rows_.push_back({SliceId{i}, s.start[i], s.end(SliceId{i}), id, mark});
        out_.source = std::max(out_.source, mark.source);
      }
    }
    std::ranges::stable_sort(rows_, {}, &Row::start);
  }

  void order_calls() {
    for (std::uint32_t c = 0; c < calls_.size(); ++c) {
      const SliceId row = asked_by(calls_[c]);
      if (row == no_slice || trace_.track(trace_.slices.track[index(row)]).device) continue;
      asked_.push_back({trace_.slices.track[index(row)], trace_.slices.start[index(row)], c});
    }
    std::ranges::stable_sort(asked_, {}, [](const Asked& a) { return std::pair(a.thread, a.at); });
  }

  std::vector<std::uint32_t> asked_in(const Row& row) const {
    const auto key = [](const Asked& a) { return std::pair(a.thread, a.at); };
    const auto first = std::ranges::lower_bound(asked_, std::pair(row.thread, row.start), {}, key);
    std::vector<std::uint32_t> found;
    for (auto at = first; at != asked_.end() && at->thread == row.thread && at->at < row.end; ++at)
      found.push_back(at->call);
    return found;
  }

  // Without a device, a thread still inside the row when the parameters arrive waited for them
  // inside that row.
  bool waited_in(const Row& row, std::uint32_t call) const {
    return view_.index->cpu_only() && row.end >= calls_[call].end;
  }

  // True if the thread waits for the call directly after requesting it, before the unit's turn.
  bool waited_at_once(const UnitUse& use, std::uint32_t call) const {
    const Slices& s = trace_.slices;
    const Track& track = trace_.track(use.thread);
    const auto rows = std::span(s.start).subspan(track.first, track.count);
    const auto at = std::ranges::lower_bound(rows, calls_[call].start);
    auto i = track.first + static_cast<std::uint32_t>(at - rows.begin());
    while (i < track.first + track.count && s.category[i] != Category::cpu_op) ++i;
    if (i == track.first + track.count || s.start[i] >= use.begin) return false;
    return is_host_communication(trace_, SliceId{i}) && s.end(SliceId{i}) >= calls_[call].end;
  }

  std::uint32_t unit(std::string_view name) {
    const auto known = unit_rows_.find(name);
    if (known != unit_rows_.end()) return known->second;
    const auto number = static_cast<std::uint32_t>(out_.units.size());
    unit_rows_.emplace(name, number);
    out_.units.emplace_back(name);
    return number;
  }

  UnitUse* add_use(const Row& row, std::string_view name, UnitPass pass, Ns from) {
    const auto step = step_of_host(view_.steps, row.start);
    if (!step) return nullptr;
    UnitUse use;
    use.unit = unit(name);
    use.pass = pass;
    use.step = static_cast<std::uint32_t>(*step);
    use.thread = row.thread;
    use.begin = row.start;
    use.go = row.name.mark == Mark::engine_pass ? row.start : row.end;
    use.from = from;
    out_.uses.push_back(std::move(use));
    return &out_.uses.back();
  }

  void add_reduction(const Row& row, std::string_view name, std::vector<std::uint32_t> calls,
                     Ns begin) {
    const auto step = step_of_host(view_.steps, row.start);
    if (!step || calls.empty()) return;
    out_.reductions.push_back(
        {unit(name), static_cast<std::uint32_t>(*step), row.thread, begin, std::move(calls)});
  }

  // The row over a call names its unit. Both begin and end together.
  void engine() {
    std::map<std::pair<TrackId, Ns>, std::uint32_t> call_at;
    for (std::uint32_t c = 0; c < calls_.size(); ++c)
      call_at[{trace_.slices.track[index(calls_[c].slice)], calls_[c].start}] = c;
    struct Calls {
      std::deque<std::uint32_t> parameters;  // by start
      std::vector<std::uint32_t> gradients;
    };
    std::map<std::string_view, Calls> of_unit;
    for (const Row& row : rows_) {
      const bool parameters = row.name.mark == Mark::engine_parameters;
      if (!parameters && row.name.mark != Mark::engine_gradients) continue;
      const auto call = call_at.find({row.thread, row.start});
      if (call == call_at.end() || calls_[call->second].end != row.end) continue;
      Calls& calls = of_unit[row.name.unit];
      parameters ? calls.parameters.push_back(call->second)
                 : calls.gradients.push_back(call->second);
    }
    std::map<std::string_view, Ns> next_pass;  // of the unit, after the rows seen so far
    std::vector<Ns> until(rows_.size());
    for (std::size_t i = rows_.size(); i-- > 0;) {
      if (rows_[i].name.mark != Mark::engine_pass) continue;
      const auto [at, fresh] = next_pass.try_emplace(rows_[i].name.unit, Ns::max());
      until[i] = std::exchange(at->second, rows_[i].start);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      const auto found = of_unit.find(row.name.unit);
      if (row.name.mark != Mark::engine_pass || found == of_unit.end()) continue;
      UnitUse* use = add_use(row, row.name.unit, row.name.pass, row.start);
      if (use == nullptr) continue;
      auto& calls = found->second.parameters;
      // A call requested in an earlier step belongs to the update (stages 1 and 2) and is not a
      // fetch.
      for (; !calls.empty() && calls_[calls.front()].start < row.end; calls.pop_front()) {
        const bool fetched = step_of_host(view_.steps, calls_[calls.front()].start) == use->step;
        (fetched ? use->calls : use->updates).push_back(calls.front());
        use->waits_in_row = use->waits_in_row || (fetched && waited_at_once(*use, calls.front()));
      }
      const auto& messages = found->second.gradients;
      const auto start_of = [&](std::uint32_t c) { return calls_[c].start; };
      const auto first = std::ranges::lower_bound(messages, row.start, {}, start_of);
      const auto last = std::ranges::lower_bound(messages, until[i], {}, start_of);
      add_reduction(row, row.name.unit, {first, last}, row.end);
    }
  }

  void fsdp2_units() {
    struct Gather {
      const Row* row = nullptr;
      std::vector<std::uint32_t> calls;
    };
    std::map<std::string_view, Gather> last_gather;  // of each unit
    const auto take = [&](UnitUse& use, const Row& by, std::vector<std::uint32_t> calls) {
      for (const std::uint32_t c : calls) use.waits_in_row = use.waits_in_row || waited_in(by, c);
      use.calls = std::move(calls);
      use.fetch_thread = by.thread;
      use.fetch_begin = by.start;
      use.fetch_end = by.end;
    };
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      const std::string_view name = row.name.unit;
      if (row.name.mark == Mark::fsdp2_gather) last_gather[name] = {&row, asked_in(row)};
      if (row.name.mark == Mark::fsdp2_reduce) add_reduction(row, name, asked_in(row), row.start);
      const bool forward = row.name.mark == Mark::fsdp2_pre_forward;
      if (!forward && row.name.mark != Mark::fsdp2_pre_backward) continue;
      const Row* gather = nullptr;
      const Row* copy_out = nullptr;
      for (std::size_t j = i + 1; j < rows_.size() && rows_[j].start < row.end; ++j) {
        if (rows_[j].thread != row.thread || rows_[j].name.unit != name) continue;
        if (rows_[j].name.mark == Mark::fsdp2_gather) gather = &rows_[j];
        if (rows_[j].name.mark == Mark::fsdp2_copy_out) copy_out = &rows_[j];
      }
      // Recomputation enters the forward hook again, with parameters that backward has fetched.
      const bool in_backward = !out_.uses.empty() && out_.uses.back().pass == UnitPass::backward;
      if (forward && copy_out == nullptr && in_backward) continue;
      UnitUse* use =
          add_use(row, name, row.name.pass, copy_out == nullptr ? row.end : copy_out->start);
      if (use == nullptr || copy_out == nullptr) continue;
      if (gather != nullptr)
        take(*use, *gather, asked_in(*gather));
      else if (const auto ahead = last_gather.find(name); ahead != last_gather.end())
        take(*use, *ahead->second.row, ahead->second.calls);
      last_gather.erase(name);
    }
  }

  // Gathers that were requested and belong to no unit yet, with the requesting row.
  void take_pending(std::size_t hook, UnitUse& use) {
    const Row& row = rows_[hook];
    // Gathers that DeepSpeed requests for later modules have not arrived when this module goes on.
    const SliceId reader = use_stream_.first_launched_at(row.end);
    std::vector<Pending> later;
    for (const Pending& p : pending_) {
      const Ns asked = trace_.slices.start[index(asked_by(calls_[p.call]))];
      bool ahead = row.name.mark == Mark::deepspeed_fetch && reader != no_slice &&
                   calls_[p.call].end > trace_.slices.start[index(reader)];
      for (std::size_t j = hook + 1; j < rows_.size() && rows_[j].start < row.end; ++j)
        ahead =
            ahead || (rows_[j].name.mark == Mark::fsdp1_prefetch && rows_[j].thread == row.thread &&
                      rows_[j].start <= asked && asked < rows_[j].end);
      if (ahead) {
        later.push_back(p);
        continue;
      }
      use.calls.push_back(p.call);
      use.waits_in_row = use.waits_in_row || waited_in(rows_[p.row], p.call);
    }
    pending_ = std::move(later);
  }

  // Units without names: a hook takes the gathers requested before it let the unit go on, except
  // those it requested for another unit.
  void numbered_units() {
    std::map<std::pair<std::size_t, UnitPass>, std::uint32_t> next;  // by step and pass
    std::map<std::size_t, std::uint32_t> next_reduction;
    const auto numbered = [](std::uint32_t n) { return "unit " + std::to_string(n); };
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      const Mark mark = row.name.mark;
      const bool reduces = mark == Mark::fsdp1_reduce || mark == Mark::deepspeed_reduce;
      const bool hook = mark == Mark::fsdp1_pre_forward || mark == Mark::fsdp1_pre_backward ||
                        mark == Mark::deepspeed_fetch;
      const auto step = step_of_host(view_.steps, row.start);
      if (!step || (!reduces && !hook && mark != Mark::fsdp1_prefetch)) continue;
      std::vector<std::uint32_t> calls = asked_in(row);
      if (reduces) {
        std::erase_if(calls, [&](auto c) { return calls_[c].kind == CollectiveKind::all_gather; });
        if (!calls.empty())
          add_reduction(row, numbered(next_reduction[*step]++), std::move(calls), row.start);
        continue;
      }
      for (const std::uint32_t c : calls) {
        if (calls_[c].kind != CollectiveKind::all_gather || taken_[c]) continue;
        taken_[c] = true;
        pending_.push_back({i, c});
      }
      if (!hook) continue;
      UnitPass pass = row.name.pass;
      if (mark == Mark::deepspeed_fetch) {
        const Phase phase = phases_.at(row.thread, row.start);
        if (phase == Phase::backward || phase == Phase::recompute) pass = UnitPass::backward;
      }
      if (UnitUse* use = add_use(row, numbered(next[{*step, pass}]++), pass, row.end);
          use != nullptr)
        take_pending(i, *use);
    }
  }

  void number_chains() {
    std::ranges::stable_sort(out_.uses, {}, &UnitUse::begin);
    std::ranges::stable_sort(out_.reductions, {}, &UnitReduction::begin);
    std::uint32_t chain = 0;
    for (std::size_t i = 1; i < out_.uses.size(); ++i) {
      const UnitUse& before = out_.uses[i - 1];
      UnitUse& use = out_.uses[i];
      const bool over = use.step != before.step ||
                        (out_.source != UnitSource::stepscope && use.pass != before.pass);
      if (over) ++chain;
      use.chain = chain;
    }
  }
};

}  // namespace

SliceId StreamOps::first_launched_at(Ns instant) const {
  const auto at = std::ranges::lower_bound(launched, instant);
  return at == launched.end() ? no_slice : ops[static_cast<std::size_t>(at - launched.begin())];
}

SliceId StreamOps::before(SliceId op, const Trace& trace) const {
  const auto start_of = [&](SliceId s) { return trace.slices.start[index(s)]; };
  auto at = std::ranges::lower_bound(ops, start_of(op), {}, start_of);
  return at == ops.begin() ? no_slice : *(at - 1);
}

StreamOps compute_stream(const RankView& view) {
  const Trace& trace = *view.trace;
  std::map<TrackId, Ns> busy;
  for (const DeviceLane& lane : view.index->devices)
    for (const SliceId op : lane.ops)
      if (trace.is_compute(op)) busy[trace.slices.track[index(op)]] += trace.slices.dur[index(op)];
  if (busy.empty()) return {};
  const auto most =
      std::ranges::max_element(busy, {}, [](const auto& of_stream) { return of_stream.second; });
  StreamOps found{.stream = most->first, .launched = {}, .ops = {}};
  for (const DeviceLane& lane : view.index->devices)
    for (const SliceId op : lane.ops) {
      const SliceId launch = view.index->launch(op);
      if (trace.slices.track[index(op)] != found.stream || launch == no_slice) continue;
      // In the order of the stream: later launches cannot run sooner.
      const Ns at = trace.slices.start[index(launch)];
      found.launched.push_back(found.launched.empty() ? at : std::max(at, found.launched.back()));
      found.ops.push_back(op);
    }
  return found;
}

SliceId asked_by(const CollectiveCall& call) {
  return call.launch != no_slice ? call.launch : call.slice;
}

UnitMarks find_unit_marks(const RankView& view, const RankCalls& rank, const HostPhases& phases) {
  return MarkFinder(view, rank, phases).run();
}

}  // namespace stepscope
