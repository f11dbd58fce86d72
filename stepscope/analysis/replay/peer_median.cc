// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/peer_median.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/key_index.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// One piece of work on one rank. Pieces with one number on several ranks are the same.
struct WorkPiece {
  std::uint32_t number = 0;
  std::uint32_t node = 0;
  Ns time{};
};

// The pieces by their numbers, which are less than `numbers`; pieces of one number by time.
std::vector<WorkPiece> grouped(std::span<const WorkPiece> work, std::size_t numbers) {
  std::vector<std::uint32_t> next(numbers + 1);
  for (const WorkPiece& piece : work) ++next[piece.number + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<WorkPiece> groups(work.size());
  for (const WorkPiece& piece : work) groups[next[piece.number]++] = piece;
  auto first = groups.begin();
  for (std::size_t number = 0; number < numbers; ++number) {
    const auto last = groups.begin() + next[number];
    std::sort(first, last, [](const WorkPiece& a, const WorkPiece& b) {
      return std::tie(a.time, a.node) < std::tie(b.time, b.node);
    });
    first = last;
  }
  return groups;
}

// Median of the others in a group sorted by time, at least 0.
Ns time_of_others(std::span<const WorkPiece> group, std::size_t own) {
  return std::max(Ns{0}, group[lower_median_without(own, group.size())].time);
}

bool is_own_work(NodeKind kind) {
  return kind == NodeKind::host || kind == NodeKind::launch || kind == NodeKind::compute ||
         kind == NodeKind::copy;
}

// Number of a step by its ordinal.
std::int64_t step_index(const RankView& view, std::int32_t step) {
  return step < 0 ? view.steps.front().index - 1 : view.steps[static_cast<std::size_t>(step)].index;
}

// Work that most peers lack: they do not need it, unless they have an equal amount of work that the
// rank lacks. Ranks of one role may run the same work under other names. So each rank's lone work
// of a step and part is compared with the median of its peers'.
void add_lone(const Replay& replay, std::span<const RankView> views, const StepPieces& pieces,
              std::span<const std::uint32_t> peers, std::span<const std::uint32_t> lone,
              std::vector<Ns>& of_node) {
  const StepGraph& graph = *replay.graph;
  const auto is_host = [&](std::uint32_t n) {
    return graph.kind[n] == NodeKind::host || graph.kind[n] == NodeKind::launch;
  };
  using Place = std::tuple<std::int64_t, bool, std::uint32_t>;  // step, host, view
  std::map<Place, std::vector<std::uint32_t>> of_place;
  std::vector<std::uint32_t> sorted(lone.begin(), lone.end());
  std::ranges::sort(sorted);
  for (const std::uint32_t v : peers)
    for (const StepPiece& p : pieces.of(v))
      if (std::ranges::binary_search(sorted, p.node))
        of_place[{step_index(views[v], p.step), is_host(p.node), v}].push_back(p.node);
  const auto time_at = [&](const Place& place) {
    Ns sum{};
    if (const auto at = of_place.find(place); at != of_place.end())
      for (const std::uint32_t n : at->second) sum += std::max(Ns{0}, replay.measured.work[n]);
    return sum;
  };
  for (const auto& [place, nodes] : of_place) {
    const auto& [step, host, view] = place;
    std::vector<Ns> others;
    for (const std::uint32_t v : peers)
      if (v != view) others.push_back(time_at({step, host, v}));
    const Ns own = time_at(place);
    const Ns theirs = lower_median(others);
    if (own <= Ns{0}) continue;
    const double left =
        std::min(1.0, static_cast<double>(theirs.count()) / static_cast<double>(own.count()));
    for (const std::uint32_t n : nodes)
      of_node[n] = Ns{std::llround(
          static_cast<double>(std::max(Ns{0}, replay.measured.work[n]).count()) * left)};
  }
}

std::span<const std::uint32_t> computes_of(const Replay& replay) {
  return replay.movable_of[static_cast<std::size_t>(NodeKind::compute)];
}

// "tp0.pp1" → "tp0."
std::string_view without_stage(std::string_view role) {
  return role.substr(0, role.size() - stage_of(role).size());
}

// The kernels with peers on the ranks of other stages, for ranks that are alone in their role.
// These are the names that a rank runs as often as most ranks of its part of the role, if they are
// enough of its compute: else its stage has other layers.
class StagePeers {
 public:
  StagePeers(const Replay& replay, std::span<const RankView> views,
             std::span<const std::string> roles, const std::vector<bool>& alone);
  [[nodiscard]] bool has(std::uint32_t view, std::uint64_t name) const {
    return names_[view].contains(name);
  }

 private:
  std::vector<std::set<std::uint64_t>> names_;  // by view
};

constexpr double least_alike = 0.25;  // of a rank's compute

StagePeers::StagePeers(const Replay& replay, std::span<const RankView> views,
                       std::span<const std::string> roles, const std::vector<bool>& alone)
    : names_(views.size()) {
  std::vector<std::vector<std::uint64_t>> hashes(views.size());
  for (std::size_t v = 0; v < views.size(); ++v)
    if (alone[v]) hashes[v] = name_hashes(views[v].trace->strings);
  struct Sum {
    std::size_t count = 0;
    Ns time{};
  };
  using OfViews = std::map<std::uint32_t, Sum>;
  std::map<std::pair<std::string_view, std::uint64_t>, OfViews> names;  // by part of role and name
  const StepGraph& graph = *replay.graph;
  std::vector<Ns> all(views.size());
  for (const std::uint32_t n : computes_of(replay)) {
    const std::uint32_t v = graph.view[n];
    if (!alone[v] || stage_of(roles[v]).empty() || graph.slice[n] == no_slice) continue;
    const StringId name = views[v].trace->slices.name[index(graph.slice[n])];
    Sum& sum = names[{without_stage(roles[v]), hashes[v][index(name)]}][v];
    ++sum.count;
    sum.time += graph.graph.duration[n];
    all[v] += graph.graph.duration[n];
  }
  std::vector<Ns> alike(views.size());
  for (const auto& [name, of_views] : names) {
    std::map<std::size_t, std::size_t> ranks;  // by count
    for (const auto& [v, sum] : of_views) ++ranks[sum.count];
    const auto usual = std::ranges::max_element(ranks, {}, [](const auto& x) { return x.second; });
    if (usual->second < 2) continue;
    for (const auto& [v, sum] : of_views) {
      if (sum.count != usual->first) continue;
      names_[v].insert(name.second);
      alike[v] += sum.time;
    }
  }
  for (std::size_t v = 0; v < views.size(); ++v)
    if (static_cast<double>(alike[v].count()) < least_alike * static_cast<double>(all[v].count()))
      names_[v].clear();
}

constexpr std::size_t least_repeats = 4;  // of host work with one name in a step of all stages

// Host work of ranks that are alone in their stage: the same work recurs for each micro-batch and
// on the other stages, so what comes before a call of one name usually takes the median of that.
void add_repeats(const Replay& replay, std::span<const RankView> views, const StepPieces& pieces,
                 std::span<const std::string> roles, const std::vector<bool>& alone,
                 std::vector<Ns>& of_node) {
  const StepGraph& graph = *replay.graph;
  std::map<std::pair<std::uint64_t, std::int64_t>, std::vector<WorkPiece>> repeats;  // name, step
  for (std::uint32_t v = 0; v < views.size(); ++v) {
    if (!alone[v] || stage_of(roles[v]).empty()) continue;
    const std::vector<std::uint64_t> names = name_hashes(views[v].trace->strings);
    for (const StepPiece& p : pieces.of(v)) {
      if (graph.kind[p.node] != NodeKind::host) continue;
      const StringId name = views[v].trace->slices.name[index(graph.slice[p.node])];
      repeats[{names[index(name)], step_index(views[v], p.step)}].push_back(
          {0, p.node, time_of(replay, p.node)});
    }
  }
  for (auto& [name, work] : repeats) {
    if (work.size() < least_repeats) continue;
    std::ranges::sort(work, {}, &WorkPiece::time);
    for (std::size_t i = 0; i < work.size(); ++i) of_node[work[i].node] = time_of_others(work, i);
  }
}

std::vector<bool> alone_in_role(std::span<const std::string> roles) {
  std::map<std::string_view, std::size_t> ranks;
  for (const std::string& role : roles) ++ranks[role];
  std::vector<bool> alone;
  for (const std::string& role : roles) alone.push_back(ranks[role] < 2);
  return alone;
}

// The views that are compared with each other: of a role, or alone in their stages.
std::vector<std::vector<std::uint32_t>> peers_of(std::span<const std::string> roles,
                                                 const std::vector<bool>& alone) {
  std::map<std::string_view, std::vector<std::uint32_t>> of_role;
  for (std::uint32_t v = 0; v < roles.size(); ++v)
    of_role[alone[v] ? without_stage(roles[v]) : roles[v]].push_back(v);
  std::vector<std::vector<std::uint32_t>> peers;
  for (auto& [role, views] : of_role) peers.push_back(std::move(views));
  return peers;
}

void add_mean(const Replay& replay, std::span<const WorkPiece> group, std::vector<Ns>& mean) {
  if (replay.graph->kind[group.front().node] != NodeKind::compute) return;
  Ns sum{};
  for (const WorkPiece& piece : group) sum += replay.measured.duration[piece.node];
  const std::span<const std::uint32_t> computes = computes_of(replay);
  for (const WorkPiece& piece : group)
    mean[static_cast<std::size_t>(std::ranges::lower_bound(computes, piece.node) -
                                  computes.begin())] = sum / std::ssize(group);
}

// A held device has no holds at the peers, unless half of them are held too.
void add_holds(const StepGraph& graph, std::span<const std::string> roles,
               std::vector<Ns>& of_node) {
  std::vector<bool> held(roles.size(), false);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (graph.kind[n] == NodeKind::held) held[graph.view[n]] = true;
  struct Peers {
    std::size_t all = 0;
    std::size_t free = 0;
  };
  std::map<std::string_view, Peers> of_role;
  for (std::size_t v = 0; v < roles.size(); ++v) {
    Peers& peers = of_role[roles[v]];
    ++peers.all;
    if (!held[v]) ++peers.free;
  }
  std::vector<bool> alone(roles.size(), false);  // held, while most of its peers are not
  for (std::size_t v = 0; v < roles.size(); ++v)
    alone[v] = held[v] && 2 * of_role[roles[v]].free > of_role[roles[v]].all - 1;
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (graph.kind[n] == NodeKind::held && alone[graph.view[n]]) of_node[n] = Ns{0};
}

}  // namespace

std::vector<std::string> roles_to_compare(std::span<const std::string> roles) {
  std::vector<std::string> compared(roles.begin(), roles.end());
  if (std::set<std::string_view>(roles.begin(), roles.end()).size() < roles.size()) return compared;
  for (std::string& role : compared) role = stage_of(role);
  return compared;
}

std::string_view stage_of(std::string_view role) {
  const std::size_t at = role.find("pp");
  return at == std::string_view::npos ? std::string_view{} : role.substr(at);
}

PeerMedians peer_medians(const Replay& replay, std::span<const RankView> views,
                         std::span<const std::string> roles, unsigned threads) {
  const StepGraph& graph = *replay.graph;
  PeerMedians medians;
  medians.pieces = step_pieces(replay, views, threads);
  medians.of_node.assign(graph.size(), Ns{-1});
  medians.mean.assign(computes_of(replay).size(), Ns{-1});
  const std::vector<bool> alone = alone_in_role(roles);
  const StagePeers of_stages(replay, views, roles, alone);
  const auto peers = peers_of(roles, alone);
  parallel_for(peers.size(), threads, [&](std::size_t r) {
    if (peers[r].size() < 2) return;
    std::vector<WorkPiece> work;
    KeyIndex<std::uint64_t, std::identity> numbers;  // of keys and steps
    for (const std::uint32_t v : peers[r]) {
      const std::vector<std::uint64_t> names = name_hashes(views[v].trace->strings);
      for (const StepPiece& p : medians.pieces.of(v)) {
        const SliceId row = graph.slice[p.node];
        if (!is_own_work(graph.kind[p.node])) continue;
        if (alone[v] && (graph.kind[p.node] != NodeKind::compute ||
                         !of_stages.has(v, names[index(views[v].trace->slices.name[index(row)])])))
          continue;
        const auto step = static_cast<std::uint64_t>(step_index(views[v], p.step));
        work.push_back(
            {numbers.insert(hash_pair(p.key, step)).first, p.node, time_of(replay, p.node)});
      }
    }
    const std::vector<WorkPiece> groups = grouped(work, numbers.size());
    std::vector<std::uint32_t> lone;  // nodes that most peers lack
    for (std::size_t first = 0; first < groups.size();) {
      std::size_t last = first;
      while (last < groups.size() && groups[last].number == groups[first].number) ++last;
      const std::span group = std::span(groups).subspan(first, last - first);
      if (2 * (group.size() - 1) < peers[r].size() - 1) {
        for (const WorkPiece& piece : group) lone.push_back(piece.node);
      } else {
        for (std::size_t i = 0; i < group.size(); ++i)
          medians.of_node[group[i].node] = time_of_others(group, i);
        if (roles[graph.view[group.front().node]] == roles[graph.view[group.back().node]])
          add_mean(replay, group, medians.mean);
      }
      first = last;
    }
    if (!alone[peers[r].front()])
      add_lone(replay, views, medians.pieces, peers[r], lone, medians.of_node);
  });
  add_repeats(replay, views, medians.pieces, roles, alone, medians.of_node);
  add_holds(graph, roles, medians.of_node);
  return medians;
}

namespace {

bool has_step_piece(NodeKind kind) {
  return kind == NodeKind::host || kind == NodeKind::launch || kind == NodeKind::compute ||
         kind == NodeKind::copy || is_message(kind);
}

// A node's row and kind, in the place of its step and key. Stretches of the nodes of many ranks
// follow each other: they are read once, in their order.
StepPiece raw_piece(const StepGraph& graph, std::uint32_t node) {
  return {static_cast<std::uint64_t>(graph.kind[node]), node,
          static_cast<std::int32_t>(index(graph.slice[node]))};
}

// Numbers the parts of each row among the raw pieces of a view with `rows` rows, the longest first.
void number_parts(const Replay& replay, std::span<const StepPiece> pieces, std::size_t rows,
                  std::span<std::uint8_t> parts) {
  static_assert(node_kind_count <= std::numeric_limits<std::uint16_t>::digits);
  constexpr std::size_t last_part = std::numeric_limits<std::uint8_t>::max();
  const auto row_of = [&](std::uint32_t i) { return static_cast<std::uint32_t>(pieces[i].step); };
  const auto bit_of = [&](std::uint32_t i) { return 1U << pieces[i].key; };
  std::vector<std::uint16_t> once(rows);   // by row: kinds of its pieces
  std::vector<std::uint16_t> again(rows);  // kinds that it has several pieces of
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    again[row_of(i)] = static_cast<std::uint16_t>(again[row_of(i)] | (once[row_of(i)] & bit_of(i)));
    once[row_of(i)] = static_cast<std::uint16_t>(once[row_of(i)] | bit_of(i));
  }
  std::vector<std::uint32_t> divided;  // pieces of rows with several parts
  for (std::uint32_t i = 0; i < pieces.size(); ++i)
    if ((again[row_of(i)] & bit_of(i)) != 0) divided.push_back(i);
  std::ranges::sort(divided, {}, [&](std::uint32_t i) {
    return std::tuple(row_of(i), pieces[i].key, -time_of(replay, pieces[i].node), i);
  });
  for (std::size_t i = 1, part = 0; i < divided.size(); ++i) {
    const bool same = row_of(divided[i]) == row_of(divided[i - 1]) &&
                      pieces[divided[i]].key == pieces[divided[i - 1]].key;
    part = same ? std::min(part + 1, last_part) : 0;
    parts[divided[i]] = static_cast<std::uint8_t>(part);
  }
}

// Gives raw pieces their steps and keys.
void describe(const RankView& view, std::span<StepPiece> pieces,
              std::span<const std::uint8_t> parts) {
  const std::vector<std::uint64_t> names = name_hashes(view.trace->strings);
  KeyIndex<std::uint64_t, std::identity> numbers;  // of kind, name, part and step
  std::vector<std::uint64_t> seen;                 // by number
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    StepPiece& p = pieces[i];
    const SliceId row{static_cast<std::uint32_t>(p.step)};
    p.step = launch_step(view, row);
    const std::uint64_t same = hash_pair(names[index(view.trace->slices.name[index(row)])],
                                         std::uint64_t{parts[i]} << 8U | p.key);
    const auto step = static_cast<std::uint64_t>(std::int64_t{p.step} + 1);
    const auto [number, fresh] = numbers.insert(hash_pair(same, step));
    if (fresh) seen.push_back(0);
    p.key = hash_pair(same, seen[number]++);
  }
}

}  // namespace

StepPieces step_pieces(const Replay& replay, std::span<const RankView> views, unsigned threads) {
  const StepGraph& graph = *replay.graph;
  const auto counts = [&](std::uint32_t n) {
    return replay.movable[n] && has_step_piece(graph.kind[n]) && graph.slice[n] != no_slice;
  };
  StepPieces pieces;
  pieces.first.assign(views.size() + 1, 0);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (counts(n)) ++pieces.first[graph.view[n] + std::size_t{1}];
  std::partial_sum(pieces.first.begin(), pieces.first.end(), pieces.first.begin());
  pieces.all.resize(pieces.first.back());
  pieces.part.resize(pieces.first.back());
  std::vector<std::size_t> next(pieces.first.begin(), pieces.first.end() - 1);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (counts(n)) pieces.all[next[graph.view[n]]++] = raw_piece(graph, n);
  parallel_for(views.size(), threads, [&](std::size_t v) {
    const std::size_t count = pieces.first[v + 1] - pieces.first[v];
    const auto of_view = std::span(pieces.all).subspan(pieces.first[v], count);
    const auto parts = std::span(pieces.part).subspan(pieces.first[v], count);
    number_parts(replay, of_view, views[v].trace->slices.size(), parts);
    describe(views[v], of_view, parts);
  });
  return pieces;
}

Ns time_of(const Replay& replay, std::uint32_t node) {
  return is_message(replay.graph->kind[node]) || keeps_delay(replay, node)
             ? replay.measured.duration[node]
             : replay.measured.work[node];
}

std::int32_t launch_step(const RankView& view, SliceId row) {
  const SliceId call = view.index->launch(row);
  const Ns at = view.trace->slices.start[index(call == no_slice ? row : call)];
  const bool host = call != no_slice || view.index->cpu_only() ||
                    is_host(view.trace->slices.category[index(row)]);
  return host ? last_step_of_host(view.steps, at) : last_step(view.steps, at);
}

std::uint64_t hash_pair(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6U) + (a >> 2U));
  x ^= x >> 33U;
  x *= 0xff51afd7ed558ccdULL;
  return x ^ (x >> 33U);
}

std::vector<std::uint64_t> name_hashes(const StringPool& strings) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(strings.size());
  for (std::uint32_t i = 0; i < strings.size(); ++i)
    hashes.push_back(text_hash(strings[StringId{i}]));
  return hashes;
}

}  // namespace stepscope
