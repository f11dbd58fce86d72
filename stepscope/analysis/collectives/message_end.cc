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
constexpr double usual_share = 0.9;  // of the times of messages that were waited for
constexpr double least_share = 0.25;

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
  Ns ready{};           // the later of the two calls
  bool waited = false;  // the thread shows no operator from then until it has the message
};

// How long messages usually take; of those that were waited for, if there are enough. Else no
// message takes longer than until it is collected, and the shorter of these times tell.
std::optional<Ns> usual_time(const CollectiveMatches& matches, std::span<const Sent> sent,
                             bool of_waited) {
  std::vector<double> times;
  for (const Sent& s : sent) {
    const Ns time = matches.call(s.member).end - s.ready;
    if (time > Ns{0} && (s.waited || !of_waited))
      times.push_back(static_cast<double>(time.count()));
  }
  if (times.size() < least_waited) return std::nullopt;
  const double share = of_waited ? usual_share : least_share;
  return Ns{std::llround(*quantile(std::span<const double>(times), share))};
}

}  // namespace

void settle_message_ends(std::span<const RankView> views, CollectiveMatches& matches) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Activity> threads;  // by view and track
  std::vector<Sent> sent;
  for (const MatchedCollective& m : matches.matched) {
    if (!m.complete || !m.message) continue;
    const auto members = matches.members_of(m);
    Ns ready = Ns::min();
    for (const CollectiveMember x : members) ready = std::max(ready, matches.call(x).start);
    for (const CollectiveMember x : members) {
      const CollectiveCall& call = matches.call(x);
      const RankView& view = views[x.view];
      if (!call.on_host || call.edge_count != 1) continue;
      const auto key = std::pair(x.view, index(call.stream));
      auto at = threads.find(key);
      if (at == threads.end())
        at = threads.emplace(key, Activity(*view.trace, view.trace->track(call.stream))).first;
      const auto last = at->second.last_before(call.end);
      sent.push_back({x, ready, !last || *last <= ready});
    }
  }
  const auto of_waited = usual_time(matches, sent, true);
  const auto usual = of_waited ? of_waited : usual_time(matches, sent, false);
  if (!usual) return;
  for (const Sent& s : sent) {
    if (!of_waited && s.waited) continue;
    CollectiveCall& call = matches.ranks[s.member.view].calls[s.member.call];
    call.end = std::min(call.end, s.ready + *usual);
  }
}

}  // namespace stepscope
