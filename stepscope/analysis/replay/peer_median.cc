// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/peer_median.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "stepscope/base/parallel_for.h"

namespace stepscope {
namespace {

// One piece of work on one rank. Pieces with one key on several ranks are the same.
struct WorkPiece {
  std::uint64_t key = 0;
  std::uint32_t node = 0;
  std::uint32_t view = 0;
  Ns time{};
};

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6U) + (a >> 2U));
  x ^= x >> 33U;
  x *= 0xff51afd7ed558ccdULL;
  return x ^ (x >> 33U);
}

bool is_own_work(NodeKind kind) {
  return kind == NodeKind::host || kind == NodeKind::launch || kind == NodeKind::compute ||
         kind == NodeKind::copy;
}

std::vector<std::uint64_t> name_hashes(const StringPool& strings) {
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t i = 0; i < strings.size(); ++i)
    hashes.push_back(std::hash<std::string_view>{}(strings[StringId{i}]));
  return hashes;
}

// Number of a step by its ordinal.
std::int64_t step_index(const RankView& view, std::int32_t step) {
  return step < 0 ? view.steps.front().index - 1 : view.steps[static_cast<std::size_t>(step)].index;
}

// "tp0.pp1" → "tp0."
std::string_view without_stage(std::string_view role) {
  return role.substr(0, role.size() - stage_of(role).size());
}

// Of ranks that are alone in their role: the kernels with peers on the ranks of other stages. These
// are the names that a rank runs as often as most ranks of its part of the role, if they are enough
// of its compute: else its stage has other layers.
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
  for (const std::uint32_t n : replay.movable_of[static_cast<std::size_t>(NodeKind::compute)]) {
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

// The pieces of the views of one role, or part of a role.
class Pieces {
 public:
  Pieces(const Replay& replay, std::span<const RankView> views, std::span<const std::string> roles);

  // By the part of the role that its views share. Ranks with peers in their role share all of it.
  [[nodiscard]] std::map<std::string_view, std::vector<std::uint32_t>> views_by_role() const;
  [[nodiscard]] std::vector<WorkPiece> of(std::span<const std::uint32_t> views) const;

 private:
  void add(std::uint32_t view, std::vector<WorkPiece>& pieces) const;

  const Replay& replay_;
  std::span<const RankView> views_;
  std::span<const std::string> roles_;
  std::vector<bool> alone_;
  std::vector<std::uint32_t> nodes_;  // own work, by view
  std::vector<std::size_t> first_;    // by view, in nodes_
  StagePeers of_stages_;
};

std::vector<bool> alone_in_role(std::span<const std::string> roles) {
  std::map<std::string_view, std::size_t> ranks;
  for (const std::string& role : roles) ++ranks[role];
  std::vector<bool> alone;
  for (const std::string& role : roles) alone.push_back(ranks[role] < 2);
  return alone;
}

Pieces::Pieces(const Replay& replay, std::span<const RankView> views,
               std::span<const std::string> roles)
    : replay_(replay),
      views_(views),
      roles_(roles),
      alone_(alone_in_role(roles)),
      first_(views.size() + 1),
      of_stages_(replay, views, roles, alone_) {
  const StepGraph& graph = *replay.graph;
  const auto counts = [&](std::uint32_t n) {
    return replay.movable[n] && is_own_work(graph.kind[n]) && graph.slice[n] != no_slice;
  };
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (counts(n)) ++first_[graph.view[n] + std::size_t{1}];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  nodes_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (counts(n)) nodes_[next[graph.view[n]]++] = n;
}

std::map<std::string_view, std::vector<std::uint32_t>> Pieces::views_by_role() const {
  std::map<std::string_view, std::vector<std::uint32_t>> of_role;
  for (std::uint32_t v = 0; v < views_.size(); ++v)
    of_role[alone_[v] ? without_stage(roles_[v]) : roles_[v]].push_back(v);
  return of_role;
}

void Pieces::add(std::uint32_t view, std::vector<WorkPiece>& pieces) const {
  const StepGraph& graph = *replay_.graph;
  const RankView& v = views_[view];
  const std::vector<std::uint64_t> names = name_hashes(v.trace->strings);
  std::unordered_map<std::uint64_t, std::uint64_t> seen;
  for (std::size_t i = first_[view]; i < first_[view + 1]; ++i) {
    const std::uint32_t n = nodes_[i];
    const std::uint64_t name = names[index(v.trace->slices.name[index(graph.slice[n])])];
    if (alone_[view] && (graph.kind[n] != NodeKind::compute || !of_stages_.has(view, name)))
      continue;
    std::uint64_t key = mix(name, static_cast<std::uint64_t>(graph.kind[n]));
    key = mix(key, static_cast<std::uint64_t>(step_index(v, launch_step(v, graph.slice[n]))));
    key = mix(key, seen[key]++);
    pieces.push_back({key, n, view, graph.graph.duration[n] + graph.graph.delay[n]});
  }
}

std::vector<WorkPiece> Pieces::of(std::span<const std::uint32_t> views) const {
  std::vector<WorkPiece> pieces;
  std::size_t count = 0;
  for (const std::uint32_t v : views) count += first_[v + 1] - first_[v];
  pieces.reserve(count);
  for (const std::uint32_t v : views) add(v, pieces);
  std::ranges::sort(pieces, [](const WorkPiece& a, const WorkPiece& b) {
    return a.key != b.key ? a.key < b.key : (a.time != b.time ? a.time < b.time : a.node < b.node);
  });
  return pieces;
}

// Median of the others in a group sorted by time.
Ns median_without(std::span<const WorkPiece> group, std::size_t own) {
  const std::size_t others = group.size() - 1;
  const std::size_t place = (others - 1) / 2;
  return group[place < own ? place : place + 1].time;
}

void add_mean(const Replay& replay, std::span<const WorkPiece> group, std::vector<Ns>& mean) {
  if (replay.graph->kind[group.front().node] != NodeKind::compute) return;
  Ns sum{};
  for (const WorkPiece& piece : group) sum += replay.measured.duration[piece.node];
  for (const WorkPiece& piece : group) mean[piece.node] = sum / std::ssize(group);
}

// A held device has no holds at the peers, unless half of them are held too.
void add_holds(const StepGraph& graph, std::span<const std::string> roles,
               std::vector<Ns>& of_node) {
  std::vector<bool> held(roles.size(), false);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (graph.kind[n] == NodeKind::held) held[graph.view[n]] = true;
  std::vector<bool> alone(roles.size(), false);  // held, while most of its peers are not
  for (std::size_t v = 0; v < roles.size(); ++v) {
    if (!held[v]) continue;
    std::size_t peers = 0;
    std::size_t free = 0;
    for (std::size_t other = 0; other < roles.size(); ++other) {
      if (other == v || roles[other] != roles[v]) continue;
      ++peers;
      if (!held[other]) ++free;
    }
    alone[v] = 2 * free > peers;
  }
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

std::int32_t launch_step(const RankView& view, SliceId row) {
  const SliceId call = view.index->launch(row);
  const Ns at = view.trace->slices.start[index(call == no_slice ? row : call)];
  const bool host = call != no_slice || view.index->cpu_only() ||
                    is_host(view.trace->slices.category[index(row)]);
  const auto after =
      std::ranges::upper_bound(view.steps, at, {}, host ? &Step::host_start : &Step::start);
  return static_cast<std::int32_t>(after - view.steps.begin()) - 1;
}

PeerMedians peer_medians(const Replay& replay, std::span<const RankView> views,
                         std::span<const std::string> roles, unsigned threads) {
  PeerMedians medians;
  medians.of_node.assign(replay.graph->size(), Ns{-1});
  medians.mean.assign(replay.graph->size(), Ns{-1});
  const Pieces all(replay, views, roles);
  const auto of_role = all.views_by_role();
  const std::vector<std::pair<std::string_view, std::vector<std::uint32_t>>> listed(of_role.begin(),
                                                                                    of_role.end());
  parallel_for(listed.size(), threads, [&](std::size_t r) {
    const std::vector<WorkPiece> pieces = all.of(listed[r].second);
    for (std::size_t first = 0; first < pieces.size();) {
      std::size_t last = first;
      while (last < pieces.size() && pieces[last].key == pieces[first].key) ++last;
      const std::span group = std::span(pieces).subspan(first, last - first);
      if (group.size() > 1) {
        for (std::size_t i = 0; i < group.size(); ++i)
          medians.of_node[group[i].node] = std::max(Ns{0}, median_without(group, i));
        if (roles[group.front().view] == roles[group.back().view])
          add_mean(replay, group, medians.mean);
      }
      first = last;
    }
  });
  add_holds(*replay.graph, roles, medians.of_node);
  return medians;
}

}  // namespace stepscope
