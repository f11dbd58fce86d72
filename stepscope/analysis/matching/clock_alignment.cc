// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/clock_alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "stepscope/analysis/matching/clock_fit.h"
#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_per_half = 4;  // collectives of each clock
constexpr double most_disagreement = 0.5;  // of the two halves, relative to their results
constexpr double least_improvement = 0.8;  // of the held-out spread
constexpr double drift_improvement = 0.9;  // of the spread that offsets alone leave
constexpr double usual_drift = 50e-6;      // of free-running oscillators
constexpr Ns apart_on_a_host = std::chrono::microseconds{100};
constexpr double leaving_order = 0.25;   // of a short collective
constexpr double scale_floor_ns = 1000;  // of true ends, and
constexpr double scale_share = 0.02;     // of the collective's shortest call

using Sums = std::vector<double>;

// A send and its receive end together, unless a kernel holds other messages too. On a host each
// ends when its thread collects it.
bool is_single_message(const CollectiveMatches& matches, const MatchedCollective& m) {
  return m.message && std::ranges::all_of(matches.members_of(m), [&](CollectiveMember x) {
           return matches.call(x).edge_count == 1 && !matches.call(x).on_host;
         });
}

// Ends of the complete barrier-type collectives and messages in which several clocks take part.
SharedEnds shared_ends(const CollectiveMatches& matches, const HostClocks& clocks,
                       std::vector<double>& shortest) {
  struct Found {
    Ns at{};
    double shortest = 0;
    std::vector<ClockEnd> ends;
  };
  std::vector<Found> found;
  for (const MatchedCollective& m : matches.matched) {
    if (!m.complete) continue;
    if (m.message ? !is_single_message(matches, m) : !is_barrier_like(m.kind)) continue;
    std::map<std::uint32_t, std::vector<std::int64_t>> by_clock;
    Found one{.at = Ns::max(), .shortest = INFINITY, .ends = {}};
    for (const CollectiveMember member : matches.members_of(m)) {
      const CollectiveCall& call = matches.call(member);
      by_clock[clocks.of_view[member.view]].push_back(call.end.count());
      one.at = std::min(one.at, matches.coarse[member.view](call.end));
      one.shortest = std::min(one.shortest, static_cast<double>((call.end - call.start).count()));
    }
    if (by_clock.size() < 2) continue;
    for (auto& [clock, ends] : by_clock) one.ends.push_back({clock, Ns{upper_median(ends)}});
    found.push_back(std::move(one));
  }
  std::ranges::stable_sort(found, {}, &Found::at);
  SharedEnds data{
      .shared = {}, .ends = {}, .clocks = static_cast<std::uint32_t>(clocks.clocks.size())};
  for (const Found& f : found) {
    data.shared.push_back({.first = static_cast<std::uint32_t>(data.ends.size()),
                           .count = static_cast<std::uint32_t>(f.ends.size()),
                           .scale = Ns{std::llround(scale_floor_ns + scale_share * f.shortest)}});
    data.ends.insert(data.ends.end(), f.ends.begin(), f.ends.end());
    shortest.push_back(f.shortest);
  }
  return data;
}

// The mean over the groups of clocks of the median spread of their collectives, so that many
// collectives of ranks that share a clock hide no offset between others. `spreads`: parallel to
// data.shared.
double typical_spread(const SharedEnds& data, std::span<const double> spreads) {
  std::map<std::vector<std::uint32_t>, Sums> of_group;
  for (std::size_t s = 0; s < spreads.size(); ++s) {
    std::vector<std::uint32_t> group;
    for (const ClockEnd& e : data.of(data.shared[s])) group.push_back(e.clock);
    of_group[std::move(group)].push_back(spreads[s]);
  }
  double sum = 0;
  for (const auto& [group, of_it] : of_group) sum += *median(of_it);
  return of_group.empty() ? 0 : sum / static_cast<double>(of_group.size());
}

double norm(std::span<const double> v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

// Subtracts the mean of each joined part; the gauge is arbitrary.
Sums centred(Sums v, const std::vector<std::uint32_t>& part) {
  std::map<std::uint32_t, std::pair<double, double>> sums;
  for (std::size_t c = 0; c < v.size(); ++c) {
    sums[part[c]].first += v[c];
    sums[part[c]].second += 1;
  }
  for (std::size_t c = 0; c < v.size(); ++c) v[c] -= sums[part[c]].first / sums[part[c]].second;
  return v;
}

bool agree(const Sums& a, const Sums& b, const std::vector<std::uint32_t>& part) {
  Sums difference(a.size());
  Sums mean(a.size());
  for (std::size_t c = 0; c < a.size(); ++c) {
    difference[c] = a[c] - b[c];
    mean[c] = (a[c] + b[c]) / 2;
  }
  return norm(centred(difference, part)) <= most_disagreement * norm(centred(mean, part));
}

Sums offsets_at(const ClockFit& fit, Ns at) {
  Sums offsets;
  for (std::uint32_t c = 0; c < fit.offset_ns.size(); ++c) offsets.push_back(fit.offset_at(c, at));
  return offsets;
}

// One model, fitted to all collectives and to each half.
struct Trial {
  ClockFit all;
  ClockFit early;
  ClockFit late;
  Sums half_difference;  // by clock, at the middle of the window
  double spread = 0;     // held out: each half with the other half's offsets
  bool stable = false;
};

// `near`: null, or a trial without drift with whose results the fits begin. Then only the halves
// are fitted, and `all` is that of `near`.
Trial try_model(const SharedEnds& data, bool with_drift, const Trial* near,
                const Workers& workers) {
  const std::size_t count = data.shared.size();
  const std::size_t half = count / 2;
  Trial trial;
  std::vector<ClockFit> fits(near == nullptr ? 3 : 2);
  shared_for(fits, workers, Distribution::blocks, [&](std::size_t i) {
    if (near == nullptr)
      fits[i] = fit_clocks(data, i == 2 ? half : 0, i == 1 ? half : count, with_drift);
    else
      fits[i] = i == 0 ? fit_clocks(data, 0, half, with_drift, &near->early)
                       : fit_clocks(data, half, count, with_drift, &near->late);
  });
  trial.late = std::move(fits.back());
  fits.pop_back();
  trial.early = std::move(fits.back());
  if (near == nullptr)
    trial.all = std::move(fits.front());
  else
    trial.all = near->all;
  const auto& part = trial.all.part;
  const Sums a = offsets_at(trial.early, trial.all.at);
  const Sums b = offsets_at(trial.late, trial.all.at);
  trial.stable = with_drift ? agree(trial.early.drift, trial.late.drift, part) : agree(a, b, part);
  for (std::size_t c = 0; c < a.size(); ++c) trial.half_difference.push_back(std::abs(a[c] - b[c]));
  Sums spreads = end_spreads(data, 0, half, &trial.late);
  const Sums others = end_spreads(data, half, count, &trial.early);
  spreads.insert(spreads.end(), others.begin(), others.end());
  trial.spread = typical_spread(data, spreads);
  return trial;
}

struct Instant {
  std::uint32_t clock = 0;
  double ns = 0;  // since fit.at, drift removed
};

// Bounds on clocks from causality. No end of a barrier-type collective comes before any of its
// starts. No end of a broadcast or scatter comes before the root's start. The root's end of a
// reduce or gather comes after all starts. No receive ends before its send starts.
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

  // On offsets at fit.at, with the drift of `fit` removed; the tightest for each pair of clocks.
  // For a collective of many clocks it uses only pairs with the earliest end or the latest start
  // under `fit`: they imply the others. Each bound leaves a margin of fit.noise_ns.
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
  void demand(const Instant& start, const Instant& end) {
    if (start.clock == end.clock) return;
    const double most = end.ns - start.ns + fit_.noise_ns;
    const auto [at, fresh] = tightest_.try_emplace({end.clock, start.clock}, most);
    if (!fresh) at->second = std::min(at->second, most);
  }

  void message(std::span<const CollectiveMember> members) {
    for (const CollectiveMember receiver : members)
      for (const CollectiveMember sender : members) {
        const RankCalls& rank = matches_.ranks[receiver.view];
        for (const P2pEdge& edge : rank.edges_of(matches_.call(receiver)))
          if (edge.dst == views_[receiver.view].rank && edge.src == views_[sender.view].rank)
            demand(start(sender), end(receiver));
      }
  }

  void all_wait_for_all(std::span<const CollectiveMember> members) {
    CollectiveMember first_end = members.front();
    CollectiveMember last_start = members.front();
    for (const CollectiveMember m : members) {
      if (aligned(end(m)) < aligned(end(first_end))) first_end = m;
      if (aligned(start(m)) > aligned(start(last_start))) last_start = m;
    }
    for (const CollectiveMember m : members) {
      demand(start(m), end(first_end));
      demand(start(last_start), end(m));
    }
  }

  void collective(const MatchedCollective& m) {
    const auto members = matches_.members_of(m);
    if (is_barrier_like(m.kind)) return all_wait_for_all(members);
    if (!is_rooted(m.kind)) return;
    const auto root = std::ranges::find_if(members, [&](CollectiveMember member) {
      return views_[member.view].rank == matches_.call(member).root;
    });
    if (root == members.end()) return;
    for (const CollectiveMember member : members)
      if (is_from_root(m.kind))
        demand(start(*root), end(member));
      else
        demand(start(member), end(*root));
  }
};

class Aligner {
  std::span<const RankView> views_;
  const CollectiveMatches& matches_;
  HostClocks clocks_;
  Workers workers_;
  SharedEnds data_;
  Sums shortest_;  // call of each shared collective, ns
  Trial trial_;
  double recorded_spread_ = 0;
  ClockAlignment out_;

 public:
  Aligner(std::span<const RankView> views, const CollectiveMatches& matches, HostClocks clocks,
          const Workers& workers)
      : views_(views), matches_(matches), clocks_(std::move(clocks)), workers_(workers) {
    out_.by_view.resize(views.size());
    for (const HostClocks::Clock& c : clocks_.clocks)
      out_.hosts.push_back({.host = c.host, .ranks = c.ranks, .offset = {}, .uncertainty = {}});
  }

  ClockAlignment run() {
    if (clocks_.clocks.size() < 2) {
      const bool one = clocks_.clocks.empty() || clocks_.clocks[0].ranks.size() < 2;
      return refuse(one ? msg::clock_of_one_rank() : msg::clock_of_one_host());
    }
    if (any_relative(views_)) return refuse(msg::clocks_relative());
    data_ = shared_ends(matches_, clocks_, shortest_);
    out_.collectives = data_.shared.size();
    if (data_.shared.empty()) return refuse(msg::clocks_not_joined());
    const Sums spreads = end_spreads(data_, 0, data_.shared.size(), nullptr);
    recorded_spread_ = typical_spread(data_, spreads);
    out_.spread = Ns{std::llround(recorded_spread_)};
    if (Message few = too_few(); !few.empty()) return refuse(std::move(few));
    trial_ = choose_model();
    out_.spread_aligned = Ns{std::llround(trial_.spread)};
    note_estimate(false);
    if (largest_offset() <= leaving_order_ns()) return refuse(msg::clock_offsets_small());
    if (!trial_.stable) return refuse(halves_differ());
    if (trial_.spread > least_improvement * recorded_spread_)
      return refuse(msg::clock_ends_apart());
    const std::vector<ClockBound> bounds = Bounds(matches_, clocks_, views_, trial_.all).find();
    if (!satisfy_bounds(bounds, trial_.all)) return refuse(msg::clocks_contradict());
    note_estimate(true);
    for (std::size_t v = 0; v < views_.size(); ++v) {
      const std::uint32_t c = clocks_.of_view[v];
      out_.by_view[v] = {.offset = Ns{std::llround(trial_.all.offset_ns[c])},
                         .drift = trial_.all.drift[c],
                         .at = trial_.all.at};
    }
    out_.applied = true;
    out_.reason = msg::clock_halves_agree(unjoined());
    return std::move(out_);
  }

 private:
  ClockAlignment refuse(Message why) {
    out_.reason = std::move(why);
    return std::move(out_);
  }

  // Each clock joined to others needs enough collectives in both halves.
  Message too_few() const {
    const std::size_t half = data_.shared.size() / 2;
    std::vector<std::size_t> early(data_.clocks);
    std::vector<std::size_t> late(data_.clocks);
    for (std::size_t s = 0; s < data_.shared.size(); ++s)
      for (const ClockEnd& e : data_.of(data_.shared[s])) ++(s < half ? early : late)[e.clock];
    for (std::size_t c = 0; c < data_.clocks; ++c) {
      const bool joined = early[c] + late[c] > 0;
      if (joined && std::min(early[c], late[c]) < least_per_half)
        return msg::clocks_joined_by_few(early[c] + late[c], clocks_.clocks[c].ranks.front(),
                                         2 * least_per_half);
    }
    return {};
  }

  // Fits drift only if a usual drift would show over the window, and if it predicts better.
  Trial choose_model() {
    Trial offsets = try_model(data_, false, nullptr, workers_);
    const auto first = data_.of(data_.shared.front());
    const auto last = data_.of(data_.shared.back());
    const double window =
        std::abs(static_cast<double>((last.front().end - first.front().end).count()));
    Sums scales;
    for (const SharedEnd& s : data_.shared) scales.push_back(static_cast<double>(s.scale.count()));
    if (window * usual_drift <= *median(scales)) return offsets;
    const auto better = [&](const Trial& drift) {
      return drift.stable &&
             (!offsets.stable || drift.spread <= drift_improvement * offsets.spread);
    };
    // Fits of the halves that begin with the offsets show quickly if drift is no better, however
    // many clocks there are.
    if (!better(try_model(data_, true, &offsets, workers_))) return offsets;
    Trial drift = try_model(data_, true, nullptr, workers_);
    const bool possible =
        std::ranges::all_of(drift.all.drift, [](double d) { return std::abs(d) <= most_drift; });
    return possible && better(drift) ? drift : offsets;
  }

  // The order in which ranks leave shows best in the shortest tenth of the collectives.
  double leaving_order_ns() const { return leaving_order * *quantile(shortest_, 0.1); }

  Message halves_differ() const {
    const auto most = std::ranges::max_element(trial_.half_difference);
    const auto clock = static_cast<std::size_t>(most - trial_.half_difference.begin());
    return msg::clock_halves_differ(Ns{std::llround(trial_.all.offset_ns[clock])},
                                    Ns{std::llround(*most)});
  }

  double largest_offset() const {
    const double half_window =
        static_cast<double>((data_.of(data_.shared.back()).front().end - trial_.all.at).count());
    double low = 0;
    double high = 0;
    for (std::size_t c = 0; c < data_.clocks; ++c) {
      const double moved = std::abs(trial_.all.drift[c] * half_window);
      low = std::min(low, trial_.all.offset_ns[c] - moved);
      high = std::max(high, trial_.all.offset_ns[c] + moved);
    }
    return high - low;
  }

  void note_estimate(bool applied) {
    const ClockFit& fit = trial_.all;
    const double leaving_order = leaving_order_ns();
    for (std::uint32_t c = 0; c < data_.clocks; ++c) {
      HostAlignment& host = out_.hosts[c];
      if (fit.part[c] != fit.part[0]) continue;
      host.offset = Ns{std::llround(fit.offset_ns[c])};
      host.drift_ppm = fit.drift[c] * 1e6;
      double error = 0;
      if (c != fit.part[c])
        error = std::max(fit.error_ns[c], trial_.half_difference[c] / 2) + leaving_order;
      if (!applied) error += std::abs(fit.offset_ns[c]);
      host.uncertainty = Ns{std::llround(error)};
    }
  }

  // Hosts that no collective joins to the first host.
  std::vector<std::int64_t> unjoined() const {
    std::vector<std::int64_t> ranks;
    for (std::uint32_t c = 0; c < data_.clocks; ++c)
      if (trial_.all.part[c] != trial_.all.part[0])
        ranks.push_back(clocks_.clocks[c].ranks.front());
    return ranks;
  }
};

// The largest distance between the offsets of two ranks of one host.
Ns most_apart(const HostClocks& hosts, const ClockAlignment& by_device) {
  std::vector<std::pair<Ns, Ns>> range(hosts.clocks.size(), {Ns::max(), Ns::min()});
  Ns most{};
  for (std::size_t v = 0; v < hosts.of_view.size(); ++v) {
    auto& [low, high] = range[hosts.of_view[v]];
    low = std::min(low, by_device.by_view[v].offset);
    high = std::max(high, by_device.by_view[v].offset);
    most = std::max(most, high - low);
  }
  return most;
}

}  // namespace

// Devices of one host have clocks of their own only where these are far apart: the order in which
// ranks leave a collective looks like a small offset.
ClockAlignment align_clocks(std::span<const RankView> views, const CollectiveMatches& matches,
                            const Workers& workers) {
  const HostClocks hosts = find_clocks(views);
  ClockAlignment by_host = Aligner(views, matches, hosts, workers).run();
  HostClocks devices = clocks_of_devices(views, matches.ranks);
  if (hosts.clocks.size() == devices.clocks.size()) return by_host;
  ClockAlignment by_device = Aligner(views, matches, std::move(devices), workers).run();
  const bool better = by_device.applied && most_apart(hosts, by_device) >= apart_on_a_host &&
                      (!by_host.applied || *by_device.spread_aligned * 2 < *by_host.spread_aligned);
  return better ? by_device : by_host;
}

void apply_clock(RankIndex& index, const ClockCorrection& correction) {
  index.start = correction(index.start);
  index.end = correction(index.end);
  for (DeviceLane& lane : index.devices) {
    lane.start = correction(lane.start);
    lane.end = correction(lane.end);
  }
}

void apply_clock(Step& step, const ClockCorrection& correction) {
  for (Ns* t : {&step.host_start, &step.host_end, &step.start, &step.end}) *t = correction(*t);
}

void apply_clock(RankCalls& calls, const ClockCorrection& correction) {
  for (CollectiveCall& call : calls.calls) {
    call.start = correction(call.start);
    call.end = correction(call.end);
  }
}

}  // namespace stepscope
