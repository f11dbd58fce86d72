// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/clock_bounds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "stepscope/analysis/matching/message_size.h"

namespace stepscope {
namespace {

struct Instant {
  std::uint32_t clock = 0;
  double ns = 0;  // since fit.at, drift removed
};

class Bounds {
  const CollectiveMatches& matches_;
  const HostClocks& clocks_;
  std::span<const RankView> views_;
  const ClockFit& fit_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> tightest_;  // ahead, behind

 public:
  Bounds(const CollectiveMatches& matches, const HostClocks& clocks,
         std::span<const RankView> views, const ClockFit& fit)
      : matches_(matches), clocks_(clocks), views_(views), fit_(fit) {}

  std::vector<ClockBound> find() {
    for (const MatchedCollective& m : matches_.matched) {
      if (m.message)
        message(matches_.members_of(m));
      else if (m.complete)
        collective(m);
    }
    std::vector<ClockBound> bounds;
    for (const auto& [pair, most] : tightest_)
      bounds.push_back({pair.first, pair.second, Ns{std::llround(std::floor(most))}});
    return bounds;
  }

 private:
  [[nodiscard]] Instant instant(CollectiveMember m, Ns t) const {
    const std::uint32_t clock = clocks_.of_view[m.view];
    const auto since = static_cast<double>((t - fit_.at).count());
    return {clock, since - fit_.drift[clock] * since};
  }

  [[nodiscard]] Instant start(CollectiveMember m) const {
    return instant(m, matches_.call(m).start);
  }

  [[nodiscard]] Instant end(CollectiveMember m) const { return instant(m, matches_.call(m).end); }
  [[nodiscard]] double aligned(const Instant& i) const { return i.ns - fit_.offset_ns[i.clock]; }

  // start - offset(start) <= end - offset(end).
  void demand(const Instant& start, const Instant& end, double noise) {
    if (start.clock == end.clock) return;
    const double most = end.ns - start.ns + noise;
    const auto [at, fresh] = tightest_.try_emplace({end.clock, start.clock}, most);
    if (!fresh) at->second = std::min(at->second, most);
  }

  void message(std::span<const CollectiveMember> members) {
    for (const CollectiveMember receiver : members)
      for (const CollectiveMember sender : members) {
        const CollectiveCall& call = matches_.call(receiver);
        const auto& edges = matches_.ranks[receiver.view].edges;
        for (std::uint32_t e = 0; e < call.edge_count; ++e) {
          const P2pEdge& edge = edges[call.first_edge + e];
          if (edge.dst == views_[receiver.view].rank && edge.src == views_[sender.view].rank)
            demand(start(sender), end(receiver), fit_.noise_ns);
        }
      }
  }

  void all_wait_for_all(std::span<const CollectiveMember> members, double noise) {
    CollectiveMember first_end = members.front();
    CollectiveMember last_start = members.front();
    for (const CollectiveMember m : members) {
      if (aligned(end(m)) < aligned(end(first_end))) first_end = m;
      if (aligned(start(m)) > aligned(start(last_start))) last_start = m;
    }
    for (const CollectiveMember m : members) {
      demand(start(m), end(first_end), noise);
      demand(start(last_start), end(m), noise);
    }
  }

  void collective(const MatchedCollective& m) {
    const auto members = matches_.members_of(m);
    if (is_barrier_like(m.kind)) return all_wait_for_all(members, fit_.noise_ns);
    const bool from_root = m.kind == CollectiveKind::broadcast || m.kind == CollectiveKind::scatter;
    const bool to_root = m.kind == CollectiveKind::reduce || m.kind == CollectiveKind::gather;
    if (!from_root && !to_root) return;
    const auto root = std::ranges::find_if(members, [&](CollectiveMember member) {
      return views_[member.view].rank == matches_.call(member).root;
    });
    if (root == members.end()) return;
    for (const CollectiveMember member : members)
      if (from_root)
        demand(start(*root), end(member), fit_.noise_ns);
      else
        demand(start(member), end(*root), fit_.noise_ns);
  }
};

}  // namespace

std::vector<ClockBound> clock_bounds(const CollectiveMatches& matches, const HostClocks& clocks,
                                     std::span<const RankView> views, const ClockFit& fit) {
  return Bounds(matches, clocks, views, fit).find();
}

}  // namespace stepscope
