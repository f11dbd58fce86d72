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
#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/analysis/matching/message_peers.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/matching/message_times.h"
#include "stepscope/analysis/matching/sequence_align.h"
#include "stepscope/analysis/matching/sequence_match.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

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
      return std::ranges::none_of(cluster, same_view) &&
             run_together(cluster.front().items, sequence.items);
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

Ns slack_of(const ClockCorrection& clock) { return clock.is_identity() ? Ns{0} : coarse_slack; }

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
  if (any_relative(views)) return {};
  Views order(views.size());
  std::iota(order.begin(), order.end(), 0U);
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
    out_.hosts = hosts_of(views);
    out_.ranks.resize(views.size());
    shared_for(out_.ranks, options.threads, Distribution::blocks,
               [&](std::size_t v) { out_.ranks[v] = find_collective_calls(views[v]); });
    join();
    add_given(options.given);
    out_.coarse.resize(views.size());
    if (options.across_clocks) out_.coarse = coarse_offsets(views, out_.ranks, find_clocks(views));
  }

  CollectiveMatches run() {
    for (Views& of : overlapping_captures(views_, out_.coarse)) {
      CapturedViews capture{.of = std::move(of),
                            .by_rank = {},
                            .views = views_,
                            .clocks = out_.coarse,
                            .ranks = out_.ranks,
                            .groups = out_.groups};
      for (const std::uint32_t v : capture.of) capture.by_rank[views_[v].rank] = v;
      if (capture.by_rank.size() < 2) continue;
      out_.clocks_comparable = true;
      report(find_loose_groups(capture));
      find_message_groups(capture);
      report(find_peers_by_times(capture));
      match_groups(capture);
      infer_peers(capture);
      match_messages(capture);
      match_streams(capture);
    }
    for (RankCalls& rank : out_.ranks) drop_unnamed(rank);
    share_knowledge();
    return std::move(out_);
  }

 private:
  void report(std::vector<UnsureGroup> unsure) {
    std::ranges::move(unsure, std::back_inserter(out_.unsure));
  }

  AlignItem item(std::uint32_t v, std::uint32_t c) const {
    const ClockCorrection& clock = out_.coarse[v];
    return item_of(v, c, out_.ranks[v].calls[c], clock, slack_of(clock));
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

  void match_groups(const CapturedViews& capture) {
    std::map<std::uint32_t, std::map<std::uint32_t, CallSequence>> by_group;  // group → view
    for (const std::uint32_t v : capture.of) {
      const auto& calls = out_.ranks[v].calls;
      std::map<std::uint32_t, std::vector<std::uint32_t>> rows;  // of calls by group
      for (std::uint32_t c = 0; c < calls.size(); ++c)
        if (calls[c].group != no_row && is_collective(calls[c])) rows[calls[c].group].push_back(c);
      for (auto& [group, of_group] : rows) {
        sort_as_launched(views_[v], calls, of_group);
        CallSequence& sequence = by_group[group][v];
        for (const std::uint32_t c : of_group) {
          sequence.items.push_back(item(v, c));
          sequence.seq.push_back(calls[c].seq);
        }
      }
    }
    for (auto& [group, by_view] : by_group) {
      const CommGroup& known = out_.groups[group];
      const int size = known.size;
      SequenceSet set{.group = group, .group_size = size > 0 ? std::optional(size) : std::nullopt};
      for (const std::uint32_t v : capture.of) {
        const auto at = by_view.find(v);
        if (at == by_view.end() && !known.place_of(views_[v].rank)) continue;
        set.expected_ranks.insert(views_[v].rank);
        if (at != by_view.end()) set.sequences.push_back(std::move(at->second));
      }
      match_sequences(views_, set, out_);
    }
  }

  void match_messages(const CapturedViews& capture) {
    using Key = std::tuple<std::uint32_t, int, int, int>;  // group, source, destination, tag
    std::map<Key, std::map<std::uint32_t, CallSequence>> by_pair;
    for (const std::uint32_t v : capture.of) {
      const RankCalls& rank = out_.ranks[v];
      for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
        const CollectiveCall& call = rank.calls[c];
        for (const P2pEdge& edge : rank.edges_of(call)) {
          CallSequence& sequence = by_pair[{call.group, edge.src, edge.dst, edge.tag}][v];
          sequence.items.push_back(item(v, c));
          sequence.items.back().kind = CollectiveKind::send_recv;
          sequence.items.back().elements = edge.elements;
          sequence.seq.push_back(-1);
        }
      }
    }
    for (auto& [key, by_view] : by_pair) {
      SequenceSet set{.group = std::get<0>(key), .group_size = 2, .message = true};
      for (const int rank : {std::get<1>(key), std::get<2>(key)}) {
        if (capture.by_rank.contains(rank)) set.expected_ranks.insert(rank);
      }
      for (auto& [view, sequence] : by_view) set.sequences.push_back(std::move(sequence));
      match_sequences(views_, set, out_);
    }
  }

  // Calls whose group no metadata names. NCCL gives each communicator of a process its own stream,
  // so streams whose calls agree in order and run together belong to one group.
  void match_streams(const CapturedViews& capture) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, CallSequence> streams;  // view, stream
    for (const std::uint32_t v : capture.of) {
      const auto& calls = out_.ranks[v].calls;
      for (std::uint32_t c = 0; c < calls.size(); ++c) {
        if (calls[c].group != no_row || !is_collective(calls[c])) continue;
        // The worker threads of a CPU backend share one queue, if there is one group.
        const bool device = !views_[v].index->cpu_only();
        if (!device && out_.ranks[v].listed.size() > 1) continue;
        CallSequence& sequence = streams[{v, device ? index(calls[c].stream) : 0}];
        sequence.items.push_back(item(v, c));
        sequence.seq.push_back(-1);
      }
    }
    std::vector<CallSequence> sequences;
    sequences.reserve(streams.size());
    for (auto& [key, sequence] : streams) sequences.push_back(std::move(sequence));
    const bool whole =
        out_.world_size && capture.by_rank.size() == static_cast<std::size_t>(*out_.world_size);
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
  // members. Members that record different roots record their own numbers: then no root is known.
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
          return std::tuple(!c.kind_by_name, c.bytes.has_value(), !c.bytes_by_range);
        };
        if (best == nullptr || worth(call) > worth(*best)) best = &call;
      }
      const CollectiveCall known = *best;
      matched.kind = known.kind;
      for (const CollectiveMember m : out_.members_of(matched)) {
        CollectiveCall& call = out_.ranks[m.view].calls[m.call];
        if (call.kind_by_name) call.kind = known.kind;
        call.root = differ ? -1 : root;
        const bool lacks = !call.bytes || (call.bytes_by_range && !known.bytes_by_range);
        if (lacks && known.bytes && known.kind != CollectiveKind::all_to_all) {
          call.bytes = known.bytes;
          call.bytes_by_range = known.bytes_by_range;
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
  const bool unknown =
      std::ranges::all_of(members, [&](CollectiveMember m) { return matches.call(m).root < 0; });
  if (!is_from_root(matched.kind) || !unknown) return std::nullopt;
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
  const CommGroup& group = matches.groups[matched.group];
  std::vector<std::pair<std::size_t, std::uint32_t>> places;
  std::size_t first = 0;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const auto place = group.place_of(views[members[i].view].rank);
    if (!place) return {};
    if (i == root) first = *place;
    places.emplace_back(*place, i);
  }
  for (auto& [place, member] : places)
    place = (place + group.ranks.size() - first) % group.ranks.size();
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
  const bool gloo = views[members[*root].view]
                        .trace->name(matches.call(members[*root]).slice)
                        .starts_with("gloo:");
  if (gloo && matched.kind == CollectiveKind::broadcast)
    if (Members order = from_root(views, matches, matched, *root); !order.empty())
      return tree_gates(order);
  Members others = all;
  std::erase(others, *root);
  const bool to_root = is_to_root(matched.kind);
  const bool root_waits = to_root || (gloo && matched.kind == CollectiveKind::scatter);
  const bool buffered = matched.kind == CollectiveKind::reduce || (to_root && !gloo);
  std::vector<CollectiveGate> gates = {
      {.awaited = {*root}, .waiting = std::move(others), .buffered = buffered}};
  if (root_waits) gates.push_back({.awaited = std::move(all), .waiting = {*root}});
  return gates;
}

}  // namespace stepscope
