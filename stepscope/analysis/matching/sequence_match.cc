// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/sequence_match.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <tuple>

#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/matching/sequence_align.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

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

Places in_order(std::size_t count) {
  Places places(count);
  std::iota(places.begin(), places.end(), std::int64_t{0});
  return places;
}

std::size_t count_lost(const Places& places) {
  return static_cast<std::size_t>(
      std::ranges::count_if(places, [](const auto& place) { return !place.has_value(); }));
}

// Calls give(members) for the calls of each place. `all` is sorted by place.
template <class Give>
void each_place(std::span<const Placed> all, Give&& give) {
  while (!all.empty()) {
    const auto next =
        std::ranges::find_if(all, [&](const Placed& p) { return p.key() != all.front().key(); });
    const auto count = static_cast<std::size_t>(next - all.begin());
    give(all.first(count));
    all = all.subspan(count);
  }
}

// Ten times the usual spread of the ends, and at least the difference of one host's clocks.
Ns slack_of(std::span<const Placed> all) {
  std::vector<Ns> spreads;
  each_place(all, [&](std::span<const Placed> members) {
    const auto [first, last] =
        std::ranges::minmax(members, {}, [](const Placed& p) { return p.item.end; });
    if (members.size() > 1) spreads.push_back(last.item.end - first.item.end);
  });
  constexpr Ns least = std::chrono::microseconds{100};
  if (spreads.empty()) return least;
  return std::max(least, 10 * upper_median(spreads));
}

class SetMatcher {
  std::span<const RankView> views_;
  const SequenceSet& set_;
  CollectiveMatches& out_;
  std::map<int, std::pair<std::int64_t, std::int64_t>> span_of_;  // rank → first, last ordinal
  bool by_order_ = false;
  Ns slack_{};  // possible distance in time of calls of one collective
  std::size_t reported_ = 0;

 public:
  SetMatcher(std::span<const RankView> views, const SequenceSet& set, CollectiveMatches& out)
      : views_(views), set_(set), out_(out) {}

  void run() {
    auto by_seq = set_.message ? std::nullopt : place_by_seq(set_);
    if (!by_seq) by_seq = place_by_steps();
    const std::vector<PlacedSequence> placed = by_seq ? std::move(*by_seq) : place_by_order();
    report_edges(placed);
    std::vector<Placed> all;
    for (const PlacedSequence& mine : placed) all.insert(all.end(), mine.begin(), mine.end());
    std::ranges::sort(all, {}, [](const Placed& p) { return std::tuple(p.key(), p.item.view); });
    slack_ = slack_of(all);
    each_place(all, [&](std::span<const Placed> members) { take(members); });
  }

 private:
  [[nodiscard]] int rank_of(const AlignItem& item) const { return views_[item.view].rank; }

  std::string group_name() const {
    return set_.group == no_row ? "unknown" : out_.groups[set_.group].name;
  }

  void report(std::optional<std::int64_t> ordinal, std::vector<int> ranks, Message what,
              bool outside_capture = false) {
    constexpr std::size_t max_reports = 50;  // per group; one more row says that there are others
    if (++reported_ > max_reports + 1) return;
    if (reported_ == max_reports + 1) {
      out_.mismatches.push_back({group_name(), std::nullopt, {}, msg::more_mismatches()});
      return;
    }
    out_.mismatches.push_back(
        {group_name(), ordinal, std::move(ranks), std::move(what), outside_capture});
  }

  // A small message may have left before its receive began. Then only the order must agree.
  Places places_of(std::span<const AlignItem> a, std::span<const AlignItem> b) const {
    Places places = place_beside(a, b);
    const auto lost = count_lost(places);
    if (!set_.message || lost * 2 < places.size()) return places;
    const auto alignment = align(a, b);
    return alignment && alignment->agreeing == a.size() && a.size() == b.size() ? in_order(b.size())
                                                                                : places;
  }

  std::optional<std::vector<PlacedSequence>> place_by_steps() const {
    std::vector<std::vector<StepItem>> sequences;
    Ns step_length = Ns::max();
    for (const CallSequence& sequence : set_.sequences) {
      auto& items = sequences.emplace_back();
      for (const AlignItem& item : sequence.items)
        items.push_back(
            {launching_step(views_[item.view], out_.ranks[item.view].calls[item.call]), item.end});
      if (const auto mean = mean_step_of(views_[sequence.items.front().view]))
        step_length = std::min(step_length, *mean);
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

  std::vector<PlacedSequence> place_by_order() {
    by_order_ = true;
    const auto longest = std::ranges::max_element(
        set_.sequences, {}, [](const CallSequence& s) { return s.items.size(); });
    std::vector<PlacedSequence> placed;
    for (const CallSequence& sequence : set_.sequences) {
      const auto places = &sequence == &*longest ? in_order(sequence.items.size())
                                                 : places_of(longest->items, sequence.items);
      const auto lost = count_lost(places);
      if (lost != 0)
        report(std::nullopt, {rank_of(sequence.items.front())},
               msg::calls_beside_none(lost, places.size(), rank_of(longest->items.front())));
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
  void report_edges(const std::vector<PlacedSequence>& placed) {
    for (const PlacedSequence& mine : placed) {
      const auto [low, high] = std::ranges::minmax(mine, {}, &Placed::ordinal);
      const auto [at, fresh] =
          span_of_.try_emplace(rank_of(mine.front().item), low.ordinal, high.ordinal);
      at->second.first = std::min(at->second.first, low.ordinal);
      at->second.second = std::max(at->second.second, high.ordinal);
    }
    const auto spans = std::views::values(span_of_);
    const std::int64_t first = std::ranges::min(std::views::keys(spans));
    const std::int64_t last = std::ranges::max(std::views::values(spans));
    for (const auto& [rank, span] : span_of_) {
      const std::int64_t before = span.first - first;
      const std::int64_t after = last - span.second;
      if (before == 0 && after == 0) continue;
      report(std::nullopt, {rank},
             msg::calls_realigned(value_if(before != 0, before), value_if(after != 0, after)),
             true);
    }
  }

  // Traced ranks without the collective that captured earlier and later ones.
  std::vector<int> lacking(std::span<const Placed> members) const {
    std::vector<int> ranks;
    for (const int rank : set_.expected_ranks) {
      const bool here =
          std::ranges::any_of(members, [&](const Placed& p) { return rank_of(p.item) == rank; });
      if (!here) ranks.push_back(rank);
    }
    return ranks;
  }

  bool contradict(std::span<const Placed> members) {
    const std::int64_t ordinal = members.front().ordinal;
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
      report(ordinal, differing, msg::differs_between_ranks(what));
      return true;
    }
    if (!by_order_ || !is_barrier_like(members.front().item.kind)) return false;
    const Ns last_arrival =
        std::ranges::max(members, {}, [](const Placed& p) { return p.item.start; }).item.start;
    const Ns first_end =
        std::ranges::min(members, {}, [](const Placed& p) { return p.item.end; }).item.end;
    const bool apart = last_arrival > first_end + slack_;
    if (apart) report(ordinal, {}, msg::calls_apart());
    return apart;
  }

  void take(std::span<const Placed> members) {
    const std::vector<int> missing = lacking(members);
    for (const int rank : missing) {
      const auto at = span_of_.find(rank);
      const bool inside = at != span_of_.end() && members.front().ordinal > at->second.first &&
                          members.front().ordinal < at->second.second;
      if (inside) report(members.front().ordinal, {rank}, msg::missing_on_rank());
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
};

}  // namespace

void match_sequences(std::span<const RankView> views, const SequenceSet& set,
                     CollectiveMatches& matches) {
  const bool alone = set.expected_ranks.size() < 2;
  if (alone || set.sequences.empty()) return;
  SetMatcher(views, set, matches).run();
}

}  // namespace stepscope
