// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/fault_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Subtracted from the delay of a node that nothing waits for any more. Longer than any trace.
constexpr Ns no_wait = std::chrono::hours{24 * 365};
constexpr Ns shortest_pause = std::chrono::microseconds{300};
constexpr std::int64_t usual_times = 3;     // a pause is so many times as long as usual
constexpr std::int64_t small_pause = 10;    // times shorter than the rank's longest one
constexpr std::size_t least_values = 4;     // of a piece, to know what is usual
constexpr std::size_t most_pausing = 16;    // ranks whose pauses are replayed
constexpr std::int64_t least_guilt = 5;     // times less than the rank whose pauses cost most
constexpr std::int64_t hidden_pauses = 10;  // times longer than what they cost: all but hidden
constexpr double repeated = 1.5;            // waits of a call a step, at least
constexpr double at_the_end = 0.1;       // of a step's launches come after its last wait, at most
constexpr std::int32_t lacks_step = -2;  // of a view that lacks the step
constexpr std::size_t rare_steps = 2;    // at most one step of a rank in this number
constexpr std::size_t ends = 2;          // of a recording

// The piece takes `time`. A kept delay stays.
void set_time(const WhatIfInputs& in, std::uint32_t node, Ns time,
              std::vector<NodeChange>& changes) {
  Ns work = time - in.replay.measured.duration[node];
  if (!is_message(in.replay.graph->kind[node]) && !keeps_delay(in.replay, node))
    work -= in.replay.measured.delay(node);
  if (work != Ns{0}) changes.emplace_back(node, work);
}

}  // namespace

namespace {

// The host work of the ranks of one role that took much longer than usual.
void find_pauses(const WhatIfInputs& in, std::span<const std::uint32_t> views,
                 std::vector<Pause>& found) {
  struct Host {
    std::uint64_t key = 0;
    std::uint32_t view = 0;
    std::int32_t step = 0;
    std::uint32_t node = 0;
    Ns time{};
  };
  const auto each_host = [&](auto&& visit) {
    for (const std::uint32_t v : views)
      for (const StepPiece& p : in.medians.pieces.of(v)) {
        const NodeKind kind = in.replay.graph->kind[p.node];
        if (kind == NodeKind::host || kind == NodeKind::launch) visit(v, p);
      }
  };
  std::unordered_set<std::uint64_t> long_ones;  // by key
  each_host([&](std::uint32_t, const StepPiece& p) {
    if (time_of(in.replay, p.node) > shortest_pause) long_ones.insert(p.key);
  });
  std::vector<Host> work;
  each_host([&](std::uint32_t v, const StepPiece& p) {
    if (long_ones.contains(p.key))
      work.push_back({p.key, v, p.step, p.node, time_of(in.replay, p.node)});
  });
  std::size_t steps = 0;
  for (const std::uint32_t v : views) steps += in.views[v].steps.size();
  std::ranges::sort(work, {}, &Host::key);
  for (std::size_t first = 0; first < work.size();) {
    std::size_t last = first;
    std::vector<Ns> times;
    for (; last < work.size() && work[last].key == work[first].key; ++last)
      times.push_back(work[last].time);
    // A row that most steps do not have usually takes no time. The ends of the recording cut rows
    // off that every step has.
    const bool rare = rare_steps * (times.size() + ends * views.size()) <= steps;
    const Ns usual = rare ? Ns{0} : times.size() < least_values ? Ns::max() : lower_median(times);
    for (std::size_t i = first; i < last && usual != Ns::max(); ++i) {
      const Host& h = work[i];
      const Ns excess = h.time - usual;
      if (excess > std::max(shortest_pause, usual_times * usual))
        found.push_back({h.node, h.view, h.step, std::max(Ns{0}, usual), excess});
    }
    first = last;
  }
}

}  // namespace

namespace {

// Keeps the pauses of each rank whose removal alone saves something. Peers that wait for a rank
// that pauses seem to pause, too, and so does every rank in a step with more work.
void keep_guilty(const WhatIfInputs& in, std::vector<Pause>& pauses) {
  std::map<std::uint32_t, Ns> excess;  // by view
  for (const Pause& p : pauses) excess[p.view] += p.excess;
  std::vector<std::pair<Ns, std::uint32_t>> largest;
  for (const auto& [view, sum] : excess) largest.emplace_back(sum, view);
  std::ranges::sort(largest, std::ranges::greater{});
  if (largest.size() > most_pausing) largest.resize(most_pausing);
  std::vector<std::vector<NodeChange>> lists;
  for (const auto& [sum, view] : largest) {
    std::vector<Pause> own;
    std::ranges::copy_if(pauses, std::back_inserter(own),
                         [v = view](const Pause& p) { return p.view == v; });
    std::ranges::sort(own, {}, &Pause::node);
    lists.push_back(without_pauses(in, own));
  }
  const std::vector<WorkChange> changes(lists.begin(), lists.end());
  const std::vector<Ns> steps = replay_steps(in.replay, in.replay.measured.work, changes);
  Ns most{};
  for (const Ns step : steps) most = std::max(most, in.replay.step - step);
  std::set<std::uint32_t> guilty;
  for (std::size_t i = 0; i < largest.size(); ++i) {
    const auto& [sum, view] = largest[i];
    const Ns gain = in.replay.step - steps[i];
    const auto recorded = static_cast<std::int64_t>(in.views[view].steps.size());
    if (gain > Ns{0} && least_guilt * gain >= most && hidden_pauses * gain * recorded >= sum)
      guilty.insert(view);
  }
  std::erase_if(pauses, [&](const Pause& p) { return !guilty.contains(p.view); });
}

}  // namespace

std::vector<Pause> find_pauses(const WhatIfInputs& in) {
  std::map<std::string_view, std::vector<std::uint32_t>> views_of_role;
  for (std::uint32_t v = 0; v < in.views.size(); ++v) views_of_role[in.roles[v]].push_back(v);
  std::vector<Pause> found;
  for (const auto& [role, views] : views_of_role) find_pauses(in, views, found);
  // Small pauses next to a large one would make the large one look frequent.
  std::map<std::uint32_t, Ns> longest;  // by view
  for (const Pause& p : found) longest[p.view] = std::max(longest[p.view], p.excess);
  std::erase_if(found, [&](const Pause& p) { return small_pause * p.excess < longest[p.view]; });
  // What a rank does in many steps is no pause. The first step does not count, and one that counts
  // does not show what is rare.
  std::map<std::uint32_t, std::set<std::int32_t>> steps_of;  // by view
  for (const Pause& p : found) steps_of[p.view].insert(p.step);
  std::erase_if(found, [&](const Pause& p) {
    const std::size_t recorded = in.views[p.view].steps.size();
    return recorded <= rare_steps || rare_steps * steps_of[p.view].size() > recorded;
  });
  keep_guilty(in, found);
  std::ranges::sort(found, {}, &Pause::node);
  return found;
}

std::vector<NodeChange> without_pauses(const WhatIfInputs& in, std::span<const Pause> pauses) {
  std::vector<NodeChange> changes;
  for (const Pause& p : pauses) set_time(in, p.node, p.usual, changes);
  return changes;
}

std::vector<std::vector<Ns>> data_of_steps(const WhatIfInputs& in,
                                           std::span<const NodeChange> data_free) {
  std::vector<std::vector<Ns>> data(in.views.size());
  for (std::size_t v = 0; v < data.size(); ++v) data[v].resize(in.views[v].steps.size());
  for (const NodeChange& c : data_free) {
    const std::uint32_t v = in.replay.graph->view[c.node];
    const std::int32_t step = launch_step(in.views[v], in.replay.graph->slice[c.node]);
    if (step >= 0) data[v][static_cast<std::size_t>(step)] -= c.work;
  }
  return data;
}

std::vector<std::vector<Ns>> data_of_peers(const WhatIfInputs& in,
                                           std::span<const std::vector<Ns>> data) {
  struct OfRank {
    std::size_t view = 0;
    Ns time{};
  };
  std::map<std::pair<std::string_view, std::int64_t>, std::vector<OfRank>> of_step;  // by role
  for (std::size_t v = 0; v < data.size(); ++v)
    for (std::size_t k = 0; k < data[v].size(); ++k)
      of_step[{in.roles[v], in.views[v].steps[k].index}].push_back({v, data[v][k]});
  std::vector<std::vector<Ns>> peers(data.size());
  for (std::size_t v = 0; v < data.size(); ++v)
    for (const Step& step : in.views[v].steps) {
      std::vector<Ns> others;
      for (const OfRank& r : of_step[{in.roles[v], step.index}])
        if (r.view != v) others.push_back(r.time);
      peers[v].push_back(others.empty() ? Ns{-1} : lower_median(others));
    }
  return peers;
}

std::vector<NodeChange> data_like_peers(const WhatIfInputs& in,
                                        std::span<const NodeChange> data_free, int rank) {
  const StepGraph& graph = *in.replay.graph;
  const auto own = data_of_steps(in, data_free);
  const auto peers = data_of_peers(in, own);
  std::vector<NodeChange> changes;
  for (const NodeChange& c : data_free) {
    const std::uint32_t v = graph.view[c.node];
    const std::int32_t step = launch_step(in.views[v], graph.slice[c.node]);
    if (in.views[v].rank != rank || step < 0) continue;
    const Ns mine = own[v][static_cast<std::size_t>(step)];
    const Ns theirs = peers[v][static_cast<std::size_t>(step)];
    if (theirs < Ns{0} || theirs >= mine) continue;
    const double longer =
        1 - static_cast<double>(theirs.count()) / static_cast<double>(mine.count());
    changes.push_back({c.node, Ns{std::llround(static_cast<double>(c.work.count()) * longer)}});
  }
  return changes;
}

namespace {

// The ordinal of a step of this number, -1 for the work before the first; no piece has lacks_step.
std::int32_t ordinal_of(const RankView& view, std::int64_t index) {
  const auto own = std::ranges::find(view.steps, index, &Step::index);
  if (own != view.steps.end()) return static_cast<std::int32_t>(own - view.steps.begin());
  return index == -1 ? -1 : lacks_step;
}

}  // namespace

bool has_own_rows(const RankView& view, std::int64_t index) {
  std::vector<std::uint64_t> names;  // by StringId, without digits: annotations count steps
  for (std::uint32_t i = 0; i < view.trace->strings.size(); ++i) {
    std::string name(view.trace->strings[StringId{i}]);
    std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
    names.push_back(text_hash(name));
  }
  const Slices& slices = view.trace->slices;
  std::unordered_set<std::uint64_t> own;
  std::unordered_set<std::uint64_t> others;
  for (std::size_t row = 0; row < slices.size(); ++row) {
    if (!is_host(slices.category[row])) continue;
    const auto step = step_of_host(view.steps, slices.start[row]);
    const bool in_step = step && view.steps[*step].index == index;
    (in_step ? own : others).insert(names[stepscope::index(slices.name[row])]);
  }
  return std::ranges::any_of(own, [&](std::uint64_t name) { return !others.contains(name); });
}

std::vector<NodeChange> step_like_others(const WhatIfInputs& in, std::int64_t index) {
  std::vector<NodeChange> changes;
  for (std::size_t v = 0; v < in.views.size(); ++v) {
    const std::int32_t step = ordinal_of(in.views[v], index);
    std::unordered_map<std::uint64_t, std::vector<Ns>> others;  // by key
    const auto pieces = in.medians.pieces.of(v);
    for (const StepPiece& p : pieces)
      if (p.step == step) others.try_emplace(p.key);
    if (others.empty()) continue;
    for (const StepPiece& p : pieces) {
      if (p.step < 0 || p.step == step) continue;
      if (const auto at = others.find(p.key); at != others.end())
        at->second.push_back(time_of(in.replay, p.node));
    }
    for (const StepPiece& p : pieces) {
      if (p.step != step) continue;
      std::vector<Ns>& times = others[p.key];
      set_time(in, p.node, times.empty() ? Ns{0} : std::max(Ns{0}, lower_median(times)), changes);
    }
  }
  std::ranges::sort(changes, {}, &NodeChange::node);
  return changes;
}

namespace {

// The calls of a view that wait for the device.
struct WaitingCall {
  std::uint32_t node = 0;
  std::int32_t step = 0;
  Ns at{};
  std::uint64_t site = 0;  // its name and that of the operator around it
};

// The innermost operator of the step around a call, or no_slice.
SliceId operator_around(const RankView& view, SliceId call, std::int32_t step) {
  const Slices& slices = view.trace->slices;
  const Ns from = step < 0 ? Ns::min() : view.steps[static_cast<std::size_t>(step)].host_start;
  const std::uint32_t first = view.trace->track(slices.track[index(call)]).first;
  for (std::uint32_t row = index(call); row-- > first && slices.start[row] >= from;)
    if (slices.category[row] == Category::cpu_op && slices.end(SliceId{row}) >= slices.end(call))
      return SliceId{row};
  return no_slice;
}

std::vector<std::vector<WaitingCall>> waiting_calls(const WhatIfInputs& in) {
  const StepGraph& graph = *in.replay.graph;
  std::vector<std::uint32_t> waits = in.replay.movable_of[static_cast<std::size_t>(NodeKind::wait)];
  std::erase_if(waits, [&](std::uint32_t n) {  // for room in the device's queue
    return is_launch_call(in.views[graph.view[n]].trace->name(graph.slice[n]));
  });
  std::vector<std::vector<WaitingCall>> calls(in.views.size());
  for (const std::uint32_t n : waits) {
    const std::uint32_t v = graph.view[n];
    const Trace& trace = *in.views[v].trace;
    const SliceId row = graph.slice[n];
    const std::int32_t step = launch_step(in.views[v], row);
    const SliceId parent = operator_around(in.views[v], row, step);
    std::uint64_t site = text_hash(trace.name(row));
    if (parent != no_slice) site = hash_pair(site, text_hash(trace.name(parent)));
    calls[v].push_back({n, step, trace.slices.start[index(row)], site});
  }
  return calls;
}

// By step of a view, the first one for what was launched before: when its operations were launched,
// ascending.
std::vector<std::vector<Ns>> launches_of_steps(const WhatIfInputs& in, std::size_t view) {
  const StepGraph& graph = *in.replay.graph;
  const Slices& slices = in.views[view].trace->slices;
  std::vector<std::vector<Ns>> launches(in.views[view].steps.size() + 1);
  for (const StepPiece& p : in.medians.pieces.of(view))
    if (graph.kind[p.node] == NodeKind::launch)
      launches[static_cast<std::size_t>(p.step + 1)].push_back(
          slices.start[index(graph.slice[p.node])]);
  for (std::vector<Ns>& times : launches) std::ranges::sort(times);
  return launches;
}

}  // namespace

std::vector<NodeChange> without_repeated_syncs(const WhatIfInputs& in) {
  const auto calls = waiting_calls(in);
  std::vector<NodeChange> changes;
  for (std::size_t v = 0; v < calls.size(); ++v) {
    std::map<std::uint64_t, std::size_t> count;  // by site
    std::map<std::int32_t, WaitingCall> last;    // by step
    for (const WaitingCall& c : calls[v]) {
      ++count[c.site];
      const auto [at, fresh] = last.try_emplace(c.step, c);
      if (!fresh && at->second.at < c.at) at->second = c;
    }
    const auto repeats = [&](const WaitingCall& c) {
      return static_cast<double>(count[c.site]) >
             repeated * static_cast<double>(in.views[v].steps.size());
    };
    if (std::ranges::none_of(calls[v], repeats)) continue;
    const auto launches = launches_of_steps(in, v);
    const auto ends_step = [&](const WaitingCall& c) {
      if (last.at(c.step).node != c.node) return false;
      const std::vector<Ns>& of_step = launches[static_cast<std::size_t>(c.step + 1)];
      const auto later = of_step.end() - std::ranges::upper_bound(of_step, c.at);
      return static_cast<double>(later) <= at_the_end * static_cast<double>(of_step.size());
    };
    for (const WaitingCall& c : calls[v])
      if (repeats(c) && !ends_step(c)) changes.push_back({c.node, -no_wait});
  }
  std::ranges::sort(changes, {}, &NodeChange::node);
  return changes;
}

namespace {

// Transfers of one kind and size.
using MessageKey = std::pair<CollectiveKind, std::uint64_t>;

const CollectiveCall* transfer_call(const WhatIfInputs& in, std::uint32_t node) {
  const std::uint32_t row = in.replay.graph->detail[node];
  if (row == no_row) return nullptr;
  const CollectiveCall& call = in.collectives.matches.ranks[in.replay.graph->view[node]].calls[row];
  return call.group == no_row ? nullptr : &call;
}

MessageKey message_of(const CollectiveCall& call) {
  return {call.kind, call.bytes ? static_cast<std::uint64_t>(call.bytes->value)
                                : static_cast<std::uint64_t>(call.elements)};
}

struct GroupTransfers {
  std::map<MessageKey, std::vector<Ns>> times;
};

// The member that comes last has the shortest call, and it is the transfer whatever the clocks say.
std::map<std::uint32_t, GroupTransfers> transfers_of_groups(const WhatIfInputs& in) {
  std::map<std::uint32_t, GroupTransfers> groups;
  const CollectiveMatches& matches = in.collectives.matches;
  for (const MatchedCollective& m : matches.matched) {
    if (!m.complete || m.group == no_row) continue;
    Ns shortest = Ns::max();
    const CollectiveCall* one = nullptr;
    for (const CollectiveMember member : matches.members_of(m)) {
      const CollectiveCall& call = matches.call(member);
      if (call.end - call.start < shortest) one = &call;
      shortest = std::min(shortest, call.end - call.start);
    }
    if (one != nullptr) {
      MessageKey key = message_of(*one);
      key.first = m.message ? CollectiveKind::send_recv : key.first;
      groups[m.group].times[key].push_back(shortest);
    }
  }
  return groups;
}

// By message: the group's median over the median sibling's.
struct MessageRatio {
  double ratio = 1;
  Ns time{};  // of the group
};

struct Compared {
  std::map<MessageKey, MessageRatio> of_message;
  std::size_t siblings = 0;
};

using GroupMedians = std::map<std::uint32_t, std::map<MessageKey, Ns>>;  // by group and message

GroupMedians medians_of(const std::map<std::uint32_t, GroupTransfers>& groups) {
  GroupMedians medians;
  for (const auto& [row, transfers] : groups)
    for (auto [message, times] : transfers.times) medians[row][message] = lower_median(times);
  return medians;
}

// Groups of one dimension and size.
struct Siblings {
  std::map<MessageKey, std::vector<Ns>> medians;            // of the groups that send it, ascending
  std::map<std::vector<MessageKey>, std::size_t> messages;  // how many groups send just these
};
using SiblingsKey = std::pair<Dimension, int>;

SiblingsKey siblings_key(const WhatIfInputs& in, std::uint32_t group) {
  return {in.collectives.dimension_of[group], in.collectives.matches.groups[group].size};
}

std::vector<MessageKey> messages_of(const std::map<MessageKey, Ns>& medians) {
  std::vector<MessageKey> messages;
  for (const auto& [message, time] : medians) messages.push_back(message);
  return messages;
}

std::map<SiblingsKey, Siblings> find_siblings(const WhatIfInputs& in, const GroupMedians& medians) {
  std::map<SiblingsKey, Siblings> found;
  for (const auto& [group, of_message] : medians) {
    Siblings& siblings = found[siblings_key(in, group)];
    for (const auto& [message, time] : of_message) siblings.medians[message].push_back(time);
    ++siblings.messages[messages_of(of_message)];
  }
  for (auto& [key, siblings] : found)
    for (auto& [message, times] : siblings.medians) std::ranges::sort(times);
  return found;
}

Compared compare_group(const std::map<MessageKey, Ns>& medians, const GroupTransfers& transfers,
                       const Siblings& siblings) {
  Compared compared;
  for (const auto& [message, own] : medians) {
    const std::vector<Ns>& times = siblings.medians.at(message);
    if (times.size() < 2) continue;
    const auto self = std::ranges::lower_bound(times, own) - times.begin();
    const Ns reference = times[lower_median_without(static_cast<std::size_t>(self), times.size())];
    if (reference <= Ns{0}) continue;
    Ns sum{};
    for (const Ns t : transfers.times.at(message)) sum += t;
    compared.of_message[message] = {
        static_cast<double>(own.count()) / static_cast<double>(reference.count()), sum};
  }
  const std::vector<MessageKey> own = messages_of(medians);
  for (const auto& [messages, groups] : siblings.messages)
    if (std::ranges::find_first_of(own, messages) != own.end()) compared.siblings += groups;
  if (!own.empty()) --compared.siblings;  // the group itself
  return compared;
}

}  // namespace

std::vector<GroupRatio> group_ratios(const WhatIfInputs& in) {
  const auto groups = transfers_of_groups(in);
  const GroupMedians medians = medians_of(groups);
  const auto siblings = find_siblings(in, medians);
  std::vector<GroupRatio> ratios;
  for (const auto& [row, transfers] : groups) {
    const Compared compared =
        compare_group(medians.at(row), transfers, siblings.at(siblings_key(in, row)));
    if (compared.siblings == 0) continue;
    GroupRatio r{.group = row, .siblings = compared.siblings};
    double own = 0;
    double reference = 0;
    for (const auto& [message, m] : compared.of_message) {
      r.time += m.time;
      own += static_cast<double>(m.time.count());
      reference += static_cast<double>(m.time.count()) / m.ratio;
    }
    if (reference <= 0) continue;
    r.ratio = own / reference;
    ratios.push_back(r);
  }
  return ratios;
}

std::vector<NodeChange> group_like_siblings(const WhatIfInputs& in, std::uint32_t group) {
  const auto groups = transfers_of_groups(in);
  std::vector<NodeChange> changes;
  if (!groups.contains(group)) return changes;
  const GroupMedians medians = medians_of(groups);
  const auto siblings = find_siblings(in, medians);
  const Compared compared =
      compare_group(medians.at(group), groups.at(group), siblings.at(siblings_key(in, group)));
  for (const std::uint32_t n : in.replay.movable_of[static_cast<std::size_t>(NodeKind::transfer)]) {
    const CollectiveCall* call = transfer_call(in, n);
    if (call == nullptr || call->group != group) continue;
    MessageKey key = message_of(*call);
    if (call->edge_count > 0) key.first = CollectiveKind::send_recv;
    const auto at = compared.of_message.find(key);
    if (at == compared.of_message.end() || at->second.ratio <= 1) continue;
    const auto now = static_cast<double>(in.replay.measured.duration[n].count());
    changes.push_back({n, Ns{std::llround(now / at->second.ratio - now)}});
  }
  return changes;
}

std::optional<std::uint32_t> group_named(const WhatIfInputs& in, std::string_view name,
                                         std::optional<int> rank) {
  const auto& groups = in.collectives.matches.groups;
  for (std::uint32_t g = 0; g < groups.size(); ++g)
    if (groups[g].name == name &&
        (!rank || std::ranges::find(groups[g].ranks, *rank) != groups[g].ranks.end()))
      return g;
  return std::nullopt;
}

}  // namespace stepscope
