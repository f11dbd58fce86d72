// SPDX-License-Identifier: Apache-2.0
// Captures that overlap in time are matched together: first calls get the groups that no record
// names, then the calls of each group are matched by Seq or aligned order, then messages by (group,
// source, destination, tag), last the streams without a group.
#include "stepscope/analysis/matching/collective_match.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "stepscope/analysis/matching/coarse_offset.h"
#include "stepscope/analysis/matching/message_groups.h"
#include "stepscope/analysis/matching/message_peers.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/matching/sequence_align.h"
#include "stepscope/analysis/matching/sequence_steps.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {
// The calls of one view on one communicator, in order.
struct CallSequence {
  std::vector<AlignItem> items;
  std::vector<std::int64_t> seq;  // of each item; -1 = not recorded
};

struct SequenceSet {
  std::uint32_t group = no_row;
  std::optional<int> group_size{};  // absent = unknown: no call is complete then
  bool message = false;             // the sends of one rank and the receives of another
  std::set<int> expected_ranks{};   // members with a trace
  std::vector<CallSequence> sequences{};
};

// A call with its place in the group: the ordinal, and its index among several kernels of one Seq.
struct Placed {
  std::int64_t ordinal = 0;
  std::uint32_t occurrence = 0;
  AlignItem item;

  [[nodiscard]] auto key() const { return std::pair(ordinal, occurrence); }
};
using PlacedSequence = std::vector<Placed>;

// Calls launched before the capture lack a Seq. Those before the first known Seq are counted back.
bool complete_seq(std::vector<std::int64_t>& seq) {
  const auto known = std::ranges::find_if(seq, [](std::int64_t s) { return s >= 0; });
  if (known == seq.end()) return false;
  for (auto at = known; at != seq.begin(); --at) *(at - 1) = *at - 1;
  return std::ranges::none_of(known, seq.end(), [](std::int64_t s) { return s < 0; });
}

std::optional<std::vector<PlacedSequence>> place_by_seq(const SequenceSet& set) {
  std::vector<PlacedSequence> placed;
  for (const CallSequence& sequence : set.sequences) {
    std::vector<std::int64_t> seq = sequence.seq;
    if (!complete_seq(seq)) return std::nullopt;
    PlacedSequence& mine = placed.emplace_back();
    std::map<std::int64_t, std::uint32_t> seen;
    for (std::size_t i = 0; i < seq.size(); ++i)
      mine.push_back({seq[i], seen[seq[i]]++, sequence.items[i]});
  }
  return placed;
}

using Places = std::vector<std::optional<std::int64_t>>;

Places in_order(std::size_t count) {
  Places places(count);
  std::iota(places.begin(), places.end(), std::int64_t{0});
  return places;
}

std::size_t count_lost(const Places& places) {
  return static_cast<std::size_t>(
      std::ranges::count_if(places, [](const auto& place) { return !place.has_value(); }));
}

class SetMatcher {
 public:
  SetMatcher(std::span<const RankView> views, const SequenceSet& set, CollectiveMatches& out)
      : views_(views), set_(set), out_(out) {}
  void run();

 private:
  [[nodiscard]] int rank_of(const AlignItem& item) const { return views_[item.view].rank; }
  [[nodiscard]] std::string group_name() const;
  [[nodiscard]] Places places_of(std::span<const AlignItem> a, std::span<const AlignItem> b) const;
  [[nodiscard]] std::optional<std::vector<PlacedSequence>> place_by_steps() const;
  std::vector<PlacedSequence> place_by_order();
  void report(std::optional<std::int64_t> ordinal, std::vector<int> ranks, std::string what,
              bool outside_capture = false);
  void report_edges(const std::vector<PlacedSequence>& placed);
  [[nodiscard]] std::vector<int> lacking(std::span<const Placed> members) const;
  bool contradict(std::span<const Placed> members);
  void take(std::span<const Placed> members);

  std::span<const RankView> views_;
  const SequenceSet& set_;
  CollectiveMatches& out_;
  std::map<int, std::pair<std::int64_t, std::int64_t>> span_of_;  // rank → first, last ordinal
  bool by_order_ = false;
  Ns slack_{};  // possible distance in time of calls of one collective
  std::size_t reported_ = 0;
};

std::string SetMatcher::group_name() const {
  return set_.group == no_row ? "unknown" : out_.groups[set_.group].name;
}

void SetMatcher::report(std::optional<std::int64_t> ordinal, std::vector<int> ranks,
                        std::string what, bool outside_capture) {
  constexpr std::size_t most = 50;  // per group; one more row says that there are others
  if (++reported_ > most + 1) return;
  if (reported_ == most + 1) {
    out_.mismatches.push_back({group_name(), std::nullopt, {}, "further mismatches not listed"});
    return;
  }
  out_.mismatches.push_back(
      {group_name(), ordinal, std::move(ranks), std::move(what), outside_capture});
}

// A small message may have left before its receive began. Then only the order must agree.
Places SetMatcher::places_of(std::span<const AlignItem> a, std::span<const AlignItem> b) const {
  Places places = place_beside(a, b);
  const auto lost = count_lost(places);
  if (!set_.message || lost * 2 < places.size()) return places;
  const auto alignment = align(a, b);
  return alignment && alignment->agreeing == a.size() && a.size() == b.size() ? in_order(b.size())
                                                                              : places;
}

std::optional<std::vector<PlacedSequence>> SetMatcher::place_by_steps() const {
  std::vector<std::vector<StepItem>> sequences;
  Ns step_length = Ns::max();
  for (const CallSequence& sequence : set_.sequences) {
    auto& items = sequences.emplace_back();
    for (const AlignItem& item : sequence.items)
      items.push_back(
          {launching_step(views_[item.view], out_.ranks[item.view].calls[item.call]), item.end});
    const auto& steps = views_[sequence.items.front().view].steps;
    if (!steps.empty())
      step_length =
          std::min(step_length, (steps.back().end - steps.front().start) / std::ssize(steps));
  }
  const auto places = places_by_step(sequences, step_length);
  if (!places) return std::nullopt;
  std::vector<PlacedSequence> placed;
  for (std::size_t s = 0; s < places->size(); ++s) {
    PlacedSequence mine;
    for (std::size_t i = 0; i < (*places)[s].size(); ++i)
      if ((*places)[s][i]) mine.push_back({*(*places)[s][i], 0, set_.sequences[s].items[i]});
    if (!mine.empty()) placed.push_back(std::move(mine));
  }
  return placed;
}

std::vector<PlacedSequence> SetMatcher::place_by_order() {
  by_order_ = true;
  const auto longest = std::ranges::max_element(
      set_.sequences, {}, [](const CallSequence& s) { return s.items.size(); });
  std::vector<PlacedSequence> placed;
  for (const CallSequence& sequence : set_.sequences) {
    const auto places = &sequence == &*longest ? in_order(sequence.items.size())
                                               : places_of(longest->items, sequence.items);
    const auto lost = count_lost(places);
    if (lost != 0) {
      const std::string other = std::to_string(rank_of(longest->items.front()));
      report(std::nullopt, {rank_of(sequence.items.front())},
             std::to_string(lost) + " of its " + std::to_string(places.size()) +
                 " calls neither agree with nor run beside one of rank " + other);
    }
    if (lost == places.size()) continue;
    PlacedSequence& mine = placed.emplace_back();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i]) mine.push_back({*places[i], 0, sequence.items[i]});
    }
  }
  std::int64_t first = 0;
  for (const auto& mine : placed) first = std::min(first, mine.front().ordinal);
  for (auto& mine : placed) {
    for (Placed& p : mine) p.ordinal -= first;
  }
  return placed;
}

// Reports captures that begin or end in the middle, once per rank.
void SetMatcher::report_edges(const std::vector<PlacedSequence>& placed) {
  for (const PlacedSequence& mine : placed) {
    const auto [low, high] = std::ranges::minmax(mine, {}, &Placed::ordinal);
    const auto [at, fresh] =
        span_of_.try_emplace(rank_of(mine.front().item), low.ordinal, high.ordinal);
    at->second.first = std::min(at->second.first, low.ordinal);
    at->second.second = std::max(at->second.second, high.ordinal);
  }
  std::int64_t first = span_of_.begin()->second.first;
  std::int64_t last = span_of_.begin()->second.second;
  for (const auto& [rank, span] : span_of_) {
    first = std::min(first, span.first);
    last = std::max(last, span.second);
  }
  for (const auto& [rank, span] : span_of_) {
    const std::int64_t before = span.first - first;
    const std::int64_t after = last - span.second;
    if (before == 0 && after == 0) continue;
    std::string what = "realigned:";
    if (before != 0) what += " the first " + std::to_string(before);
    if (before != 0 && after != 0) what += " and";
    if (after != 0) what += " the last " + std::to_string(after);
    report(std::nullopt, {rank}, what + " of the group's calls lie outside its capture", true);
  }
}

// Traced ranks without the collective that captured earlier and later ones.
std::vector<int> SetMatcher::lacking(std::span<const Placed> members) const {
  std::vector<int> ranks;
  for (const int rank : set_.expected_ranks) {
    const bool here =
        std::ranges::any_of(members, [&](const Placed& p) { return rank_of(p.item) == rank; });
    if (!here) ranks.push_back(rank);
  }
  return ranks;
}

bool SetMatcher::contradict(std::span<const Placed> members) {
  const std::int64_t ordinal = members.front().ordinal;
  Ns last_arrival = Ns::min();
  Ns first_end = Ns::max();
  for (const Placed& p : members) {
    last_arrival = std::max(last_arrival, p.item.start);
    first_end = std::min(first_end, p.item.end);
  }
  std::vector<int> differing;
  std::string_view what;
  for (const Placed& p : members.subspan(1)) {
    const std::string_view reason = disagreement(members.front().item, p.item);
    if (reason.empty()) continue;
    what = reason;
    differing.push_back(rank_of(p.item));
  }
  if (!differing.empty()) {
    if (differing.size() * 2 > members.size()) differing = {rank_of(members.front().item)};
    report(ordinal, differing, std::string(what) + " differs between the ranks");
    return true;
  }
  const bool apart =
      by_order_ && is_barrier_like(members.front().item.kind) && last_arrival > first_end + slack_;
  if (apart) report(ordinal, {}, "the ranks' calls run apart in time");
  return apart;
}

void SetMatcher::take(std::span<const Placed> members) {
  const std::vector<int> missing = lacking(members);
  for (const int rank : missing) {
    const auto at = span_of_.find(rank);
    const bool inside = at != span_of_.end() && members.front().ordinal > at->second.first &&
                        members.front().ordinal < at->second.second;
    if (inside) report(members.front().ordinal, {rank}, "missing on this rank");
  }
  if (members.size() < 2 || contradict(members) || !missing.empty()) return;
  MatchedCollective matched;
  matched.kind = members.front().item.kind;
  matched.group = set_.group;
  matched.ordinal = members.front().ordinal;
  matched.first = static_cast<std::uint32_t>(out_.members.size());
  matched.count = static_cast<std::uint32_t>(members.size());
  matched.complete =
      set_.group_size && static_cast<std::size_t>(*set_.group_size) == members.size();
  matched.message = set_.message;
  for (const Placed& p : members) out_.members.push_back({p.item.view, p.item.call});
  out_.matched.push_back(matched);
}

// Ten times the usual spread of the ends, and at least the difference of one host's clocks.
Ns slack_of(std::span<const Placed> all) {
  std::vector<Ns> spreads;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i;
    Ns low = Ns::max();
    Ns high = Ns::min();
    for (; j < all.size() && all[j].key() == all[i].key(); ++j) {
      low = std::min(low, all[j].item.end);
      high = std::max(high, all[j].item.end);
    }
    if (j - i > 1) spreads.push_back(high - low);
    i = j;
  }
  constexpr Ns least = std::chrono::microseconds{100};
  if (spreads.empty()) return least;
  return std::max(least, 10 * upper_median(spreads));
}

void SetMatcher::run() {
  auto by_seq = set_.message ? std::nullopt : place_by_seq(set_);
  if (!by_seq) by_seq = place_by_steps();
  const std::vector<PlacedSequence> placed = by_seq ? std::move(*by_seq) : place_by_order();
  report_edges(placed);
  std::vector<Placed> all;
  for (const PlacedSequence& mine : placed) all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all, {}, [](const Placed& p) { return std::tuple(p.key(), p.item.view); });
  slack_ = slack_of(all);
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i;
    while (j < all.size() && all[j].key() == all[i].key()) ++j;
    take(std::span(all).subspan(i, j - i));
    i = j;
  }
}

bool run_together(const CallSequence& a, const CallSequence& b) {
  const auto found = align(a.items, b.items);
  if (!found) return false;
  const std::size_t shorter = std::min(a.items.size(), b.items.size());
  return found->pairs * 2 >= shorter && found->agreeing * 10 >= found->pairs * 9 &&
         found->together * 10 >= found->pairs * 9;
}

// Appends to matches.matched, .members and .mismatches.
void match_sequences(std::span<const RankView> views, const SequenceSet& set,
                     CollectiveMatches& matches) {
  const bool alone = set.expected_ranks.size() < 2;
  if (alone || set.sequences.empty()) return;
  SetMatcher(views, set, matches).run();
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
  return call.edge_count == 0 && !is_point_to_point(call.kind);
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
 public:
  Matcher(std::span<const RankView> views, const MatchOptions& options) : views_(views) {
    out_.world_size = world_of(views, options);
    out_.ranks.resize(views.size());
    shared_for(out_.ranks, options.threads, Deal::blocks,
               [&](std::size_t v) { out_.ranks[v] = find_collective_calls(views[v]); });
    join();
    out_.coarse.resize(views.size());
    if (options.across_clocks) out_.coarse = coarse_offsets(views, out_.ranks, find_clocks(views));
  }
  CollectiveMatches run() {
    for (const Views& capture : overlapping_captures(views_, out_.coarse)) {
      if (ranks_of(capture).size() < 2) continue;
      out_.clocks_comparable = true;
      std::ranges::move(find_loose_groups(views_, capture, out_.groups, out_.coarse, out_.ranks),
                        std::back_inserter(out_.unsure));
      std::ranges::move(find_message_groups(views_, capture, out_.groups, out_.ranks),
                        std::back_inserter(out_.unsure));
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
  void join();
  void match_groups(const Views& capture);
  void match_messages(const Views& capture);
  void match_streams(const Views& capture);
  void share_knowledge();

  std::span<const RankView> views_;
  CollectiveMatches out_;
};

void Matcher::join() {
  std::vector<std::vector<CommGroup>> by_view;
  std::vector<int> rank_of;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    by_view.push_back(std::exchange(out_.ranks[v].groups, {}));
    rank_of.push_back(views_[v].rank);
  }
  GroupJoin join = join_groups(by_view, rank_of);
  out_.groups = std::move(join.groups);
  for (std::size_t v = 0; v < views_.size(); ++v) {
    for (CollectiveCall& call : out_.ranks[v].calls)
      if (call.group != no_row) call.group = join.job_group[v][call.group];
    for (std::uint32_t& group : out_.ranks[v].listed) group = join.job_group[v][group];
  }
}

void Matcher::match_groups(const Views& capture) {
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

void Matcher::match_messages(const Views& capture) {
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

// Calls whose group no metadata names. NCCL gives each communicator of a process its own stream, so
// streams whose calls agree in order and run together belong to one group.
void Matcher::match_streams(const Views& capture) {
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
  const bool whole = out_.world_size && traced.size() == static_cast<std::size_t>(*out_.world_size);
  for (std::vector<CallSequence>& cluster : cluster_sequences(std::move(sequences))) {
    if (cluster.size() < 2) continue;
    SequenceSet set{.group = static_cast<std::uint32_t>(out_.groups.size())};
    CommGroup group{.name = "unknown"};
    for (const CallSequence& sequence : cluster) {
      const std::uint32_t v = sequence.items.front().view;
      set.expected_ranks.insert(views_[v].rank);
      for (const AlignItem& item : sequence.items) out_.ranks[v].calls[item.call].group = set.group;
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
void Matcher::share_knowledge() {
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

}  // namespace

CollectiveMatches match_collectives(std::span<const RankView> views, const MatchOptions& options) {
  return Matcher(views, options).run();
}

}  // namespace stepscope
