// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/message_end.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_waited = 8;
constexpr double usual_share = 0.9;

// The operators of one thread: when it was last inside one.
class Activity {
 public:
  Activity(const Trace& trace, const Track& track) {
    const Slices& s = trace.slices;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (s.category[i] != Category::cpu_op) continue;
      start_.push_back(s.start[i]);
      const Ns end = s.start[i] + s.dur[i];
      last_end_.push_back(last_end_.empty() ? end : std::max(end, last_end_.back()));
    }
  }
  // At most `t`; absent before the first operator.
  [[nodiscard]] std::optional<Ns> last_before(Ns t) const {
    const auto after = std::ranges::lower_bound(start_, t);
    if (after == start_.begin()) return std::nullopt;
    return std::min(t, last_end_[static_cast<std::size_t>(after - start_.begin() - 1)]);
  }

 private:
  std::vector<Ns> start_;
  std::vector<Ns> last_end_;  // of this and earlier ones
};

struct Sent {
  CollectiveMember member;
  Ns ready{};  // the later of the two calls
};

}  // namespace

void settle_message_ends(std::span<const RankView> views, CollectiveMatches& matches) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Activity> threads;  // by view and track
  std::vector<Sent> sent;
  std::vector<double> waited;
  for (const MatchedCollective& m : matches.matched) {
    if (!m.complete || !m.message) continue;
    const auto members = matches.members_of(m);
    Ns ready = Ns::min();
    for (const CollectiveMember x : members) ready = std::max(ready, matches.call(x).start);
    for (const CollectiveMember x : members) {
      const CollectiveCall& call = matches.call(x);
      const RankView& view = views[x.view];
      if (!view.index->cpu_only() || call.edge_count != 1) continue;
      sent.push_back({x, ready});
      const auto key = std::pair(x.view, index(call.stream));
      auto at = threads.find(key);
      if (at == threads.end())
        at = threads.emplace(key, Activity(*view.trace, view.trace->track(call.stream))).first;
      const auto last = at->second.last_before(call.end);
      if ((!last || *last <= ready) && call.end > ready)
        waited.push_back(static_cast<double>((call.end - ready).count()));
    }
  }
  if (waited.size() < least_waited) return;
  const Ns usual{std::llround(*quantile(std::span<const double>(waited), usual_share))};
  for (const Sent& s : sent) {
    CollectiveCall& call = matches.ranks[s.member.view].calls[s.member.call];
    call.end = std::min(call.end, std::max(call.start, s.ready) + usual);
  }
}

}  // namespace stepscope
