// SPDX-License-Identifier: Apache-2.0
// Captures that overlap in time are matched together: first calls get the groups that no record
// names, then the calls of each group are matched by Seq or aligned order, then messages by (group,
// source, destination, tag), last the streams without a group.
#include "stepscope/analysis/matching/collective_match.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "stepscope/analysis/matching/coarse_offset.h"
#include "stepscope/analysis/matching/message_peers.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/matching/message_times.h"
#include "stepscope/analysis/matching/sequence_align.h"
#include "stepscope/analysis/matching/sequence_match.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

bool run_together(const CallSequence& a, const CallSequence& b) {
  const auto found = align(a.items, b.items);
  if (!found) return false;
  const std::size_t shorter = std::min(a.items.size(), b.items.size());
  return found->pairs * 2 >= shorter && found->agreeing * 10 >= found->pairs * 9 &&
         found->together * 10 >= found->pairs * 9;
}

// Partitions sequences without a group. A part has at most one sequence of each view. In a part,
// nine calls in ten agree with the longest sequence and run at the same time.
std::vector<std::vector<CallSequence>> cluster_sequences(std::vector<CallSequence> sequences) {
  std::ranges::stable_sort(sequences, std::ranges::greater{},
                           [](const CallSequence& s) { return s.items.size(); });
  std::vector<std::vector<CallSequence>> clusters;
  for (CallSequence& sequence : sequences) {
    const std::uint32_t view = sequence.items.front().view;
    const auto fits = [&](const std::vector<CallSequence>& cluster) {
      const auto same_view = [&](const CallSequence& s) { return s.items.front().view == view; };
      return std::ranges::none_of(cluster, same_view) && run_together(cluster.front(), sequence);
    };
    const auto home = std::ranges::find_if(clusters, fits);
    if (home == clusters.end()) {
      clusters.emplace_back().push_back(std::move(sequence));
    } else {
      home->push_back(std::move(sequence));
    }
  }
  return clusters;
}

using Views = std::vector<std::uint32_t>;

// Remaining error of a clock known only by its pattern.
constexpr Ns coarse_slack = std::chrono::microseconds{100};

AlignItem item_of(std::uint32_t view, std::uint32_t row, const CollectiveCall& call,
                  const ClockCorrection& clock) {
  const Ns slack = clock.is_identity() ? Ns{0} : coarse_slack;
  return {.view = view,
          .call = row,
          .kind = call.kind,
          .dtype = call.dtype,
          .elements = call.elements,
          .start = clock(call.start) - slack,
          .end = clock(call.end) + slack};
}

// True for every call except messages and fused kernels that may contain messages.
bool is_collective(const CollectiveCall& call) {
  return call.edge_count == 0 && !is_message(call.kind);
}

std::optional<int> world_of(std::span<const RankView> views, const MatchOptions& options) {
  if (options.world_size) return options.world_size;
  std::optional<int> world;
  for (const RankView& view : views) world = std::max(world, view.trace->metadata.world_size);
  return world;
}

// Sets of views whose windows overlap, directly or through others; none of relative clocks.
std::vector<Views> overlapping_captures(std::span<const RankView> views,
                                        std::span<const ClockCorrection> clock) {
  Views order;
  for (std::uint32_t v = 0; v < views.size(); ++v) {
    if (views[v].trace->metadata.clock != Clock::unix_epoch) return {};
    order.push_back(v);
  }
  const auto start_of = [&](std::uint32_t v) { return clock[v](views[v].index->start); };
  std::ranges::sort(order, {}, start_of);
  std::vector<Views> captures;
  Ns end = Ns::min();
  for (const std::uint32_t v : order) {
    if (captures.empty() || start_of(v) >= end) captures.emplace_back();
    captures.back().push_back(v);
    const Ns ends = clock[v](views[v].index->end);
    end = captures.back().size() == 1 ? ends : std::max(end, ends);
  }
  for (Views& capture : captures) std::ranges::sort(capture);
  return captures;
}

class Matcher {
  std::span<const RankView> views_;
  CollectiveMatches out_;

 public:
  Matcher(std::span<const RankView> views, const MatchOptions& options) : views_(views) {
    out_.world_size = world_of(views, options);
    out_.ranks.resize(views.size());
    shared_for(out_.ranks, options.threads, Deal::blocks,
               [&](std::size_t v) { out_.ranks[v] = find_collective_calls(views[v]); });
    join();
    add_given(options.given);
    out_.coarse.resize(views.size());
    if (options.across_clocks) out_.coarse = coarse_offsets(views, out_.ranks, find_clocks(views));
  }

  CollectiveMatches run() {
    for (const Views& capture : overlapping_captures(views_, out_.coarse)) {
      if (ranks_of(capture).size() < 2) continue;
      out_.clocks_comparable = true;
      for (UnsureGroup& calls :
           find_loose_groups(views_, capture, out_.groups, out_.coarse, out_.ranks))
        out_.unsure.push_back(std::move(calls));
      find_message_groups(views_, capture, out_.groups, out_.ranks);
      for (UnsureGroup& calls :
           find_peers_by_times(views_, capture, out_.groups, out_.coarse, out_.ranks))
        out_.unsure.push_back(std::move(calls));
      match_groups(capture);
      infer_peers(views_, capture, out_.groups, out_.coarse, out_.ranks);
      match_messages(capture);
      match_streams(capture);
    }
    for (RankCalls& rank : out_.ranks) drop_unnamed(rank);
    share_knowledge();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::set<int> ranks_of(const Views& capture) const {
    std::set<int> ranks;
    for (const std::uint32_t v : capture) ranks.insert(views_[v].rank);
    return ranks;
  }

  void join() {
    std::vector<std::vector<CommGroup>> by_view;
    std::vector<int> rank_of;
    for (std::size_t v = 0; v < views_.size(); ++v) {
      by_view.push_back(std::exchange(out_.ranks[v].groups, {}));
      rank_of.push_back(views_[v].rank);
    }
    GroupJoin join = join_groups(by_view, rank_of);
    out_.groups = std::move(join.groups);
    for (std::size_t v = 0; v < views_.size(); ++v) {
      for (CollectiveCall& call : out_.ranks[v].calls) {
        if (call.group != no_row) call.group = join.job_group[v][call.group];
      }
      for (std::uint32_t& group : out_.ranks[v].listed) group = join.job_group[v][group];
    }
  }

  // What the user says of groups counts where the file lists none.
  void add_given(std::span<const CommGroup> given) {
    std::map<int, std::vector<std::uint32_t>> of_rank;
    for (const CommGroup& group : given)
      for (const int rank : group.ranks)
        of_rank[rank].push_back(static_cast<std::uint32_t>(&group - given.data()));
    std::vector<std::uint32_t> row(given.size(), no_row);
    for (std::size_t v = 0; v < views_.size(); ++v) {
      RankCalls& rank = out_.ranks[v];
      if (!rank.listed.empty()) continue;
      for (const std::uint32_t g : of_rank[views_[v].rank]) {
        if (row[g] == no_row) {
          row[g] = static_cast<std::uint32_t>(out_.groups.size());
          out_.groups.push_back(given[g]);
        }
        rank.listed.push_back(row[g]);
        rank.listed_in_order = false;
      }
    }
  }

  void match_groups(const Views& capture) {
    std::map<std::uint32_t, std::map<std::uint32_t, CallSequence>> by_group;  // group → view
    for (const std::uint32_t v : capture) {
      const auto& calls = out_.ranks[v].calls;
      std::map<std::uint32_t, std::vector<std::uint32_t>> rows;  // of calls by group
      for (std::uint32_t c = 0; c < calls.size(); ++c)
        if (calls[c].group != no_row && is_collective(calls[c])) rows[calls[c].group].push_back(c);
      for (auto& [group, of_group] : rows) {
        sort_as_launched(views_[v], calls, of_group);
        CallSequence& sequence = by_group[group][v];
        for (const std::uint32_t c : of_group) {
          sequence.items.push_back(item_of(v, c, calls[c], out_.coarse[v]));
          sequence.seq.push_back(calls[c].seq);
        }
      }
    }
    for (auto& [group, by_view] : by_group) {
      const CommGroup& known = out_.groups[group];
      const int size = known.size;
      SequenceSet set{.group = group, .group_size = size > 0 ? std::optional(size) : std::nullopt};
      for (const std::uint32_t v : capture) {
        const bool member = std::ranges::find(known.ranks, views_[v].rank) != known.ranks.end();
        const auto at = by_view.find(v);
        if (at == by_view.end() && !member) continue;
        set.expected_ranks.insert(views_[v].rank);
        if (at != by_view.end()) set.sequences.push_back(std::move(at->second));
      }
      match_sequences(views_, set, out_);
    }
  }

  void match_messages(const Views& capture) {
    using Key = std::tuple<std::uint32_t, int, int, int>;  // group, source, destination, tag
    std::map<Key, std::map<std::uint32_t, CallSequence>> by_pair;
    for (const std::uint32_t v : capture) {
      const RankCalls& rank = out_.ranks[v];
      for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
        const CollectiveCall& call = rank.calls[c];
        for (std::uint32_t e = 0; e < call.edge_count; ++e) {
          const P2pEdge& edge = rank.edges[call.first_edge + e];
          CallSequence& sequence = by_pair[{call.group, edge.src, edge.dst, edge.tag}][v];
          sequence.items.push_back(item_of(v, c, call, out_.coarse[v]));
          sequence.items.back().kind = CollectiveKind::send_recv;
          sequence.items.back().elements = edge.elements;
          sequence.seq.push_back(-1);
        }
      }
    }
    const std::set<int> traced = ranks_of(capture);
    for (auto& [key, by_view] : by_pair) {
      SequenceSet set{.group = std::get<0>(key), .group_size = 2, .message = true};
      for (const int rank : {std::get<1>(key), std::get<2>(key)}) {
        if (traced.contains(rank)) set.expected_ranks.insert(rank);
      }
      for (auto& [view, sequence] : by_view) set.sequences.push_back(std::move(sequence));
      match_sequences(views_, set, out_);
    }
  }

  // Calls whose group no metadata names. NCCL gives each communicator of a process its own stream,
  // so streams whose calls agree in order and run together belong to one group.
  void match_streams(const Views& capture) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, CallSequence> streams;  // view, stream
    for (const std::uint32_t v : capture) {
      const auto& calls = out_.ranks[v].calls;
      for (std::uint32_t c = 0; c < calls.size(); ++c) {
        if (calls[c].group != no_row || !is_collective(calls[c])) continue;
        // The worker threads of a CPU backend share one queue, if there is one group.
        const bool device = !views_[v].index->cpu_only();
        if (!device && out_.ranks[v].listed.size() > 1) continue;
        CallSequence& sequence = streams[{v, device ? index(calls[c].stream) : 0}];
        sequence.items.push_back(item_of(v, c, calls[c], out_.coarse[v]));
        sequence.seq.push_back(-1);
      }
    }
    std::vector<CallSequence> sequences;
    sequences.reserve(streams.size());
    for (auto& [key, sequence] : streams) sequences.push_back(std::move(sequence));
    const std::set<int> traced = ranks_of(capture);
    const bool whole =
        out_.world_size && traced.size() == static_cast<std::size_t>(*out_.world_size);
    for (std::vector<CallSequence>& cluster : cluster_sequences(std::move(sequences))) {
      if (cluster.size() < 2) continue;
      SequenceSet set{.group = static_cast<std::uint32_t>(out_.groups.size())};
      CommGroup group{.name = "unknown"};
      for (const CallSequence& sequence : cluster) {
        const std::uint32_t v = sequence.items.front().view;
        set.expected_ranks.insert(views_[v].rank);
        for (const AlignItem& item : sequence.items)
          out_.ranks[v].calls[item.call].group = set.group;
      }
      if (whole) {  // then no member can be missing
        group.ranks.assign(set.expected_ranks.begin(), set.expected_ranks.end());
        group.size = static_cast<int>(group.ranks.size());
        set.group_size = group.size;
      }
      out_.groups.push_back(std::move(group));
      set.sequences = std::move(cluster);
      match_sequences(views_, set, out_);
    }
  }

  // Copies the kind, type, size and root that one rank recorded of a matched collective to all
  // members. Members that record different roots record their own numbers: then none is known.
  void share_knowledge() {
    for (MatchedCollective& matched : out_.matched) {
      if (matched.message) continue;
      const CollectiveCall* best = nullptr;
      int root = -1;
      bool differ = false;
      for (const CollectiveMember m : out_.members_of(matched)) {
        const CollectiveCall& call = out_.call(m);
        if (root >= 0 && call.root >= 0 && call.root != root) differ = true;
        root = std::max(root, call.root);
        const auto worth = [](const CollectiveCall& c) {
          return std::tuple(!c.kind_by_name, c.bytes.has_value());
        };
        if (best == nullptr || worth(call) > worth(*best)) best = &call;
      }
      const CollectiveCall known = *best;
      matched.kind = known.kind;
      for (const CollectiveMember m : out_.members_of(matched)) {
        CollectiveCall& call = out_.ranks[m.view].calls[m.call];
        if (call.kind_by_name) call.kind = known.kind;
        call.root = differ ? -1 : root;
        if (!call.bytes && known.kind != CollectiveKind::all_to_all) {
          call.bytes = known.bytes;
          call.dtype = known.dtype;
        }
      }
    }
  }
};

}  // namespace

CollectiveMatches match_collectives(std::span<const RankView> views, const MatchOptions& options) {
  return Matcher(views, options).run();
}

namespace {

using Members = std::vector<std::uint32_t>;

std::optional<std::uint32_t> root_of(std::span<const RankView> views,
                                     const CollectiveMatches& matches,
                                     const MatchedCollective& matched) {
  const auto members = matches.members_of(matched);
  const auto row = [&](auto at) { return static_cast<std::uint32_t>(at - members.begin()); };
  const auto recorded = std::ranges::find_if(members, [&](CollectiveMember m) {
    const int root = matches.call(m).root;
    return root >= 0 && views[m.view].rank == root;
  });
  if (recorded != members.end()) return row(recorded);
  const bool sends =
      matched.kind == CollectiveKind::broadcast || matched.kind == CollectiveKind::scatter;
  const bool unknown =
      std::ranges::all_of(members, [&](CollectiveMember m) { return matches.call(m).root < 0; });
  if (!sends || !unknown) return std::nullopt;
  const auto last = std::ranges::max_element(
      members, {}, [&](CollectiveMember m) { return matches.call(m).start; });
  const Ns start = matches.call(*last).start;
  const bool all_wait = std::ranges::all_of(
      members, [&](CollectiveMember m) { return matches.call(m).end >= start; });
  return all_wait ? std::optional(row(last)) : std::nullopt;
}

// Members by their place in the group, the root first; empty if it is not known.
Members from_root(std::span<const RankView> views, const CollectiveMatches& matches,
                  const MatchedCollective& matched, std::uint32_t root) {
  const auto members = matches.members_of(matched);
  const std::vector<int>& ranks = matches.groups[matched.group].ranks;
  std::vector<std::pair<std::size_t, std::uint32_t>> places;
  std::size_t first = 0;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const auto at = std::ranges::find(ranks, views[members[i].view].rank);
    if (at == ranks.end()) return {};
    const auto place = static_cast<std::size_t>(at - ranks.begin());
    if (i == root) first = place;
    places.emplace_back(place, i);
  }
  for (auto& [place, member] : places) place = (place + ranks.size() - first) % ranks.size();
  std::ranges::sort(places);
  Members order;
  for (const auto& [place, member] : places) order.push_back(member);
  return order;
}

// Place p receives from p without its highest bit, and sends to p with one higher bit.
std::vector<CollectiveGate> tree_gates(const Members& order) {
  std::vector<CollectiveGate> gates;
  for (std::uint32_t p = 0; p < order.size(); ++p) {
    CollectiveGate gate{.awaited = {order[p]}, .waiting = {order[p]}};
    for (std::uint32_t above = p; above > 0;) {
      above -= std::bit_floor(above);
      gate.awaited.push_back(order[above]);
    }
    for (std::uint64_t bit = p == 0 ? 1 : std::uint64_t{std::bit_floor(p)} * 2;
         p + bit < order.size(); bit *= 2)
      gate.awaited.push_back(order[p + bit]);
    gates.push_back(std::move(gate));
  }
  return gates;
}

bool is_gloo(std::span<const RankView> views, const CollectiveMatches& matches,
             CollectiveMember member) {
  return views[member.view].trace->name(matches.call(member).slice).starts_with("gloo:");
}

}  // namespace

std::vector<CollectiveGate> gates_of(std::span<const RankView> views,
                                     const CollectiveMatches& matches,
                                     const MatchedCollective& matched) {
  const auto members = matches.members_of(matched);
  Members all(members.size());
  std::iota(all.begin(), all.end(), 0U);
  if (matched.message || is_barrier_like(matched.kind)) return {{.awaited = all, .waiting = all}};
  if (!is_rooted(matched.kind)) return {};
  const auto root = root_of(views, matches, matched);
  if (!root) return {};
  const bool gloo = is_gloo(views, matches, members[*root]);
  if (gloo && matched.kind == CollectiveKind::broadcast)
    if (Members order = from_root(views, matches, matched, *root); !order.empty())
      return tree_gates(order);
  Members others = all;
  std::erase(others, *root);
  const bool to_root =
      matched.kind == CollectiveKind::reduce || matched.kind == CollectiveKind::gather;
  const bool root_waits = to_root || (gloo && matched.kind == CollectiveKind::scatter);
  const bool buffered = matched.kind == CollectiveKind::reduce || (to_root && !gloo);
  std::vector<CollectiveGate> gates = {
      {.awaited = {*root}, .waiting = std::move(others), .buffered = buffered}};
  if (root_waits) gates.push_back({.awaited = std::move(all), .waiting = {*root}});
  return gates;
}

}  // namespace stepscope
