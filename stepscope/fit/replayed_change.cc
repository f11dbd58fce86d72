// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/replayed_change.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "stepscope/analysis/replay/copied_replay.h"
#include "stepscope/analysis/replay/message_time.h"
#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::uint32_t draws_of_copies = 5;
// A multiple of the links' expected time. A message's time beyond it is not caused by the links.
constexpr double most_by_links = 1.5;
constexpr double ns_a_second = 1e9;
constexpr double unknown_latency = 0.1;  // share of messages that do not show it

std::size_t at(StepClass c) { return static_cast<std::size_t>(c); }

// The distance between neighbours of a group, if it is one.
std::optional<int> stride_of(const CommGroup& group) {
  if (group.ranks.size() < 2) return std::nullopt;
  const int stride = group.ranks[1] - group.ranks[0];
  for (std::size_t i = 1; i < group.ranks.size(); ++i)
    if (group.ranks[i] - group.ranks[i - 1] != stride) return std::nullopt;
  return stride > 0 ? std::optional(stride) : std::nullopt;
}

int group_members(const CommGroup& group) {
  return group.ranks.empty() ? std::max(group.size, 1) : static_cast<int>(group.ranks.size());
}

double ratio_of(double after, double before) {
  return after > 0 && before > 0 ? after / before : 1;
}

// By class of kernel: expected in the new plan over expected in the recorded one. Compilers fuse
// pointwise work across its classes, so its sum counts.
StepSeconds kernel_ratios(const ExpectedPlans& plans) {
  StepSeconds ratio{};
  ratio.fill(1);
  double before = 0;
  double after = 0;
  for (std::size_t c = 0; c < step_class_count; ++c) {
    ratio[c] = ratio_of(plans.replayed[c], plans.recorded[c]);
    if (!is_pointwise(static_cast<StepClass>(c))) continue;
    before += plans.recorded[c];
    after += plans.replayed[c];
  }
  for (std::size_t c = 0; c < step_class_count; ++c)
    if (is_pointwise(static_cast<StepClass>(c))) ratio[c] = ratio_of(after, before);
  return ratio;
}

using MessageSort = std::tuple<CollectiveKind, std::uint32_t, std::int64_t>;  // group, bytes

MessageSort message_of(const CollectiveCall& call) {
  return {call.kind, call.group, call.bytes ? call.bytes->value : 0};
}

// What each message takes where nothing disturbs it: the time, in ns, that a tenth of its transfers
// stay below. Longer ones waited for a busy thread or shared the link.
using UndisturbedTimes = std::map<MessageSort, double>;

UndisturbedTimes undisturbed_times(const WhatIfInputs& in) {
  constexpr double share = 0.1;
  std::map<MessageSort, std::vector<double>> times;
  for (const std::uint32_t n : in.replay.movable_of[static_cast<std::size_t>(NodeKind::transfer)]) {
    const std::uint32_t row = in.replay.graph->detail[n];
    if (row == no_row) continue;
    const CollectiveCall& call = in.collectives.matches.ranks[in.replay.graph->view[n]].calls[row];
    times[message_of(call)].push_back(static_cast<double>(in.replay.measured.duration[n].count()));
  }
  UndisturbedTimes found;
  for (const auto& [message, all] : times)
    found[message] = *quantile(std::span<const double>(all), share);
  return found;
}

// Assumptions about what no trace shows.
struct Assumed {
  double usual_latency = 1;  // multiple of it, for messages that do not show theirs
  double latency = 0;        // the latency's share of their time where no latency is usual
  // The share of a message's disturbance that passed during its time on the links, and not before
  // or after it: 0 to 1.
  double beside = 0.5;
};

// Finds what each node's duration is multiplied with.
class Factors {
 public:
  Factors(const WhatIfInputs& in, const JobShape& recorded, const ProjectionQuestion& q,
          Assumed assumed = {})
      : in_(in),
        recorded_(recorded),
        q_(q),
        data_(data_groups(in.collectives, recorded)),
        links_(
            in,
            {.links = &q.usual_latency, .times = assumed.usual_latency, .share = assumed.latency}),
        assumed_(assumed),
        undisturbed_(q.recorded == nullptr ? UndisturbedTimes() : undisturbed_times(in)),
        gathers_each_pass_(gathers_each_pass()) {}

  std::vector<double> transfers() {
    const StepGraph& graph = *in_.replay.graph;
    std::vector<double> factor(graph.size(), 1);
    for (const NodeKind kind : {NodeKind::transfer, NodeKind::comm})
      for (const std::uint32_t n : in_.replay.movable_of[static_cast<std::size_t>(kind)]) {
        const std::uint32_t row = graph.detail[n];
        if (row == no_row) continue;
        factor[n] = of_call(in_.collectives.matches.ranks[graph.view[n]].calls[row],
                            static_cast<double>(in_.replay.measured.duration[n].count()));
        unjoined_ |= kind == NodeKind::comm && factor[n] != 1;
      }
    return factor;
  }
  void add_kernels(std::vector<double>& factor) const {
    if (q_.plans == nullptr) return;
    const StepSeconds ratio = kernel_ratios(*q_.plans);
    const StepGraph& graph = *in_.replay.graph;
    for (const std::uint32_t n :
         in_.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)]) {
      if (graph.slice[n] == no_slice) continue;
      const NameClass kind = in_.views[graph.view[n]].trace->slices.kind[index(graph.slice[n])];
      if (kind != NameClass::wait && kind != NameClass::communication)
        factor[n] *= ratio[at(class_of(kind))];
    }
  }
  // What passes repeat: kernels and the host of forward and backward, and communication that is not
  // once a step. Empty: no phase is known.
  [[nodiscard]] std::vector<double> passes(double times) const {
    const StepGraph& graph = *in_.replay.graph;
    std::vector<double> repeat(graph.size(), 1);
    bool any = false;
    for (std::uint32_t n = 0; n < graph.size(); ++n) {
      if (!in_.replay.movable[n] || graph.slice[n] == no_slice || !is_repeated(n)) continue;
      repeat[n] = times;
      any = true;
    }
    if (!any) repeat.clear();
    return repeat;
  }
  [[nodiscard]] const std::vector<bool>& data() const { return data_; }
  [[nodiscard]] bool unjoined() const { return unjoined_; }
  [[nodiscard]] bool by_machine() const { return by_machine_; }
  [[nodiscard]] const TracedLinks& traced() const { return links_; }
  // Seconds of the data-parallel messages on the recorded machine's links: expected, and that part
  // of the recorded time.
  [[nodiscard]] double expected_data() const { return expected_data_; }
  [[nodiscard]] double links_data() const { return links_data_; }

 private:
  // `time`: of the call's node, ns.
  double of_call(const CollectiveCall& call, double time) {
    if (call.group == no_row) return 1;
    if (data_[call.group]) return data_factor(call, time);
    const auto by_class = [&](StepClass c) {
      return q_.plans == nullptr ? 1
                                 : ratio_of(q_.plans->replayed[at(c)], q_.plans->recorded[at(c)]);
    };
    switch (in_.collectives.dimension_of[call.group]) {
      case Dimension::tp:
      case Dimension::sp:
        return by_class(StepClass::tensor_comm);
      case Dimension::cp:
        return by_class(StepClass::context_comm);
      case Dimension::ep:
        return by_class(StepClass::expert_comm);
      case Dimension::pp:
        return stage_factor(call);
      case Dimension::dp:
      case Dimension::world:
      case Dimension::unknown:
        return 1;
    }
    return 1;
  }
  [[nodiscard]] bool is_repeated(std::uint32_t n) const {
    const StepGraph& graph = *in_.replay.graph;
    const std::uint32_t v = graph.view[n];
    const NodeKind kind = graph.kind[n];
    if (is_message(kind)) {
      const CollectiveCall& call = in_.collectives.matches.ranks[v].calls[graph.detail[n]];
      const bool data = call.group == no_row || data_[call.group];
      return !data || (gathers_each_pass_ && call.kind == CollectiveKind::all_gather);
    }
    if (kind != NodeKind::compute && kind != NodeKind::host && kind != NodeKind::launch)
      return false;
    const RankView& view = in_.views[v];
    const Slices& slices = view.trace->slices;
    const SliceId row = graph.slice[n];
    if (kind == NodeKind::compute && slices.kind[index(row)] == NameClass::optimizer) return false;
    if (v >= in_.phases.size()) return false;
    const SliceId launch = view.index->launch(row);
    const SliceId call = launch == no_slice ? row : launch;
    const Phase phase = in_.phases[v].at(slices.track[index(call)], slices.start[index(call)]);
    return phase == Phase::forward || phase == Phase::backward || phase == Phase::recompute;
  }
  // Whether parameters are gathered in every pass (ZeRO-3).
  [[nodiscard]] bool gathers_each_pass() const {
    std::size_t calls = 0;
    std::size_t steps = 0;
    for (std::size_t v = 0; v < in_.views.size(); ++v) {
      steps += in_.views[v].steps.size();
      for (const CollectiveCall& call : in_.collectives.matches.ranks[v].calls)
        if (call.kind == CollectiveKind::all_gather && call.group != no_row && data_[call.group])
          ++calls;
    }
    const auto passes = static_cast<std::size_t>(recorded_.micro_batches.value_or(1));
    return steps > 0 && calls >= 2 * passes * steps;
  }
  double data_factor(const CollectiveCall& call, double time) {
    const CommGroup& group = in_.collectives.matches.groups[call.group];
    const int members = group_members(group);
    if (members < 2) return 1;
    const auto n = static_cast<int>(
        std::llround(static_cast<double>(members) * static_cast<double>(q_.shape.dp * q_.shape.cp) /
                     static_cast<double>(recorded_.dp * recorded_.cp)));
    if (n < 2) return 0;
    if (const auto known = by_links(call, time, group, members, n)) return *known;
    return n == members && q_.data_bytes == 1 ? 1 : links_.factor(call, members, n, q_.data_bytes);
  }
  // By the machine's links, where the group's places on them are known.
  std::optional<double> by_links(const CollectiveCall& call, double time, const CommGroup& group,
                                 int members, int n) {
    const auto stride = stride_of(group);
    if (q_.recorded == nullptr || q_.asked == nullptr || !stride || !call.bytes ||
        call.bytes->value <= 0 || call.kind == CollectiveKind::unknown)
      return std::nullopt;
    const double inner = static_cast<double>(q_.shape.tp) / static_cast<double>(recorded_.tp);
    const auto before = place(members, *stride, *q_.recorded);
    const auto after =
        place(n, std::max(1, static_cast<int>(std::llround(*stride * inner))), *q_.asked);
    if (!before || !after) return std::nullopt;
    const Bytes bytes{std::llround(static_cast<double>(call.bytes->value) * q_.data_bytes)};
    const double old = collective_time(*q_.recorded, call.kind, *call.bytes, *before).count();
    const double now = collective_time(*q_.asked, call.kind, bytes, *after).count();
    if (old <= 0 || now <= 0) return std::nullopt;
    by_machine_ = true;
    expected_data_ += old;
    const double on_links = links_part(call, time, old * ns_a_second);
    links_data_ += on_links / ns_a_second;
    return time > 0 ? longer(time, on_links, now / old) / time : now / old;
  }
  // What of a message's time is that of links which need `links` for it, all in ns.
  [[nodiscard]] double links_part(const CollectiveCall& call, double time, double links) const {
    const auto known = undisturbed_.find(message_of(call));
    const double least = known == undisturbed_.end() ? time : std::min(time, known->second);
    return least <= most_by_links * links ? least : links;
  }
  // The time with links that need `ratio` times as long for their part.
  [[nodiscard]] double longer(double time, double on_links, double ratio) const {
    const double in_series = time - on_links + on_links * ratio;
    const double beside = on_links < time ? std::max(time, on_links * ratio) : in_series;
    return assumed_.beside * beside + (1 - assumed_.beside) * in_series;
  }
  double stage_factor(const CollectiveCall& call) {
    if (q_.recorded != nullptr && q_.asked != nullptr && call.bytes && call.bytes->value > 0) {
      const auto stride = static_cast<int>(recorded_.tp * recorded_.cp * recorded_.dp);
      const auto new_stride = static_cast<int>(q_.shape.tp * q_.shape.cp * q_.shape.dp);
      const auto before = place(2, stride, *q_.recorded);
      const auto after = place(2, new_stride, *q_.asked);
      const Bytes bytes{std::llround(static_cast<double>(call.bytes->value) * q_.boundary_bytes)};
      if (before && after) {
        const auto kind = CollectiveKind::send_recv;
        return ratio_of(collective_time(*q_.asked, kind, bytes, *after).count(),
                        collective_time(*q_.recorded, kind, *call.bytes, *before).count());
      }
    }
    return q_.boundary_bytes;
  }

  const WhatIfInputs& in_;
  const JobShape& recorded_;
  const ProjectionQuestion& q_;
  std::vector<bool> data_;
  TracedLinks links_;
  Assumed assumed_;
  UndisturbedTimes undisturbed_;
  bool gathers_each_pass_;
  bool unjoined_ = false;
  bool by_machine_ = false;
  double expected_data_ = 0;
  double links_data_ = 0;
};

double in_seconds(Ns time) { return seconds(time).count(); }

// Ranks whose data-parallel place the smaller job no longer has.
std::vector<bool> left_out(const WhatIfInputs& in, const JobShape& recorded, const JobShape& asked,
                           const std::vector<bool>& data) {
  std::vector<bool> out(in.views.size());
  if (asked.dp >= recorded.dp) return out;
  for (std::size_t g = 0; g < data.size(); ++g) {
    if (!data[g]) continue;
    const auto& ranks = in.collectives.matches.groups[g].ranks;
    const std::size_t kept =
        std::max<std::size_t>(1, ranks.size() * static_cast<std::size_t>(asked.dp) /
                                     static_cast<std::size_t>(recorded.dp));
    for (std::size_t v = 0; v < out.size(); ++v) {
      const auto place = std::ranges::find(ranks, in.views[v].rank);
      if (place != ranks.end() && static_cast<std::size_t>(place - ranks.begin()) >= kept)
        out[v] = true;
    }
  }
  if (std::ranges::all_of(out, [](bool o) { return o; })) out.assign(out.size(), false);
  return out;
}

double rank_steps(const WhatIfInputs& in) {
  double steps = 0;
  for (const RankView& view : in.views) steps += static_cast<double>(view.steps.size());
  return steps;
}

// Seconds of a step by class of kernel, as the mean over `steps` of all ranks; work that overlaps
// counts for each class.
StepSeconds busy_classes(const WhatIfInputs& in, double steps) {
  StepSeconds sum{};
  const StepGraph& graph = *in.replay.graph;
  for (const std::uint32_t n : in.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)])
    if (graph.slice[n] != no_slice)
      sum[at(class_of(in.views[graph.view[n]].trace->slices.kind[index(graph.slice[n])]))] +=
          in_seconds(in.replay.measured.duration[n]) / steps;
  return sum;
}

}  // namespace

Result<ReplayedChange> replay_change(const WhatIfInputs& in, const JobShape& recorded,
                                     const ProjectionQuestion& q) {
  ReplayedChange result;
  Factors factors(in, recorded, q);
  CopiedJob job;
  job.joined = factors.data();
  const auto wanted = static_cast<std::size_t>((q.shape.dp + recorded.dp - 1) / recorded.dp);
  const bool grows = q.shape.dp > recorded.dp && recorded.dp > 1;
  job.copies = grows ? std::min(wanted, most_copies(*in.replay.graph)) : 1;
  if (grows && job.copies < wanted)
    result.notes.push_back(msg::copies_stand_for(job.copies, wanted));
  if (q.shape.dp < recorded.dp && !in.replay.graph->step_ends.empty())
    job.left_out = left_out(in, recorded, q.shape, factors.data());
  for (const auto& matched : in.collectives.matches.matched)
    result.joined_data |= matched.group != no_row && factors.data()[matched.group];

  std::vector<double> transfers = factors.transfers();
  std::vector<double> kernels = transfers;
  factors.add_kernels(kernels);
  const auto m = q.shape.micro_batches;
  const bool more =
      m && recorded.micro_batches && *m != *recorded.micro_batches && q.shape.pp == recorded.pp;
  std::vector<double> repeat;
  if (more) {
    const double chunks =
        in.pipeline != nullptr ? static_cast<double>(in.pipeline->chunks.value_or(1)) : 1;
    const double filling = static_cast<double>(recorded.pp - 1) / chunks;
    repeat = factors.passes((static_cast<double>(*m) + filling) /
                            (static_cast<double>(*recorded.micro_batches) + filling));
    result.passes_replayed = !repeat.empty();
    if (repeat.empty() && q.plans == nullptr)
      return Error{.what =
                       "the traces do not tell forward and backward from the rest, so nothing "
                       "tells what a micro-batch takes",
                   .hint = "record with ProfilerActivity.CPU, or give --model and --machine"};
  }
  result.recorded = in_seconds(in.replay.step);
  std::vector<double> steps;
  const std::uint32_t draws = job.copies > 1 ? draws_of_copies : 1;
  const auto step_with = [&](const std::vector<double>& factor) {
    job.factor = factor;
    return in_seconds(copied_step(in, in.medians.pieces, job));
  };
  for (std::uint32_t d = 0; d < draws; ++d) {
    job.draw = d;
    result.ranks += step_with({}) / draws;
    result.transfers += step_with(transfers) / draws;
    result.kernels += step_with(kernels) / draws;
    job.repeat = repeat;
    steps.push_back(step_with(kernels));
    job.repeat.clear();
    result.passes += steps.back() / draws;
  }
  job.draw = 0;
  const auto transfers_with = [&](Assumed assumed) {
    return step_with(Factors(in, recorded, q, assumed).transfers());
  };
  const TracedLinks& traced = factors.traced();
  if (traced.untold() || traced.by_known_links())
    result.latency_unknown =
        transfers_with({.usual_latency = 2, .latency = unknown_latency}) - step_with(transfers);
  if (factors.by_machine())
    result.beside_unknown = transfers_with({.beside = 0}) - transfers_with({.beside = 1});
  result.draws = sample_stdev(steps).value_or(0) / std::sqrt(static_cast<double>(steps.size()));
  result.links_of_machine = factors.by_machine();
  if (const double recorded_steps = rank_steps(in); recorded_steps > 0) {
    result.busy = busy_classes(in, recorded_steps);
    result.expected_data = factors.expected_data() / recorded_steps;
    result.links_data = factors.links_data() / recorded_steps;
  }
  if (factors.unjoined()) result.notes.push_back(msg::messages_unjoined());
  if (traced.by_known_links()) result.notes.push_back(msg::latency_of_links(q.usual_machine));
  if (traced.untold()) result.notes.push_back(msg::latency_unknown());
  if (grows && !result.links_of_machine)
    result.notes.push_back(msg::links_assumed(q.usual_machine));
  return result;
}

}  // namespace stepscope
