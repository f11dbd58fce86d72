// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/unit_waits.h"

#include <algorithm>
#include <map>

#include "stepscope/analysis/collectives/overlap.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t most_distance = 64;  // limit of the search

// Calls of one stream run one after the other; without a device, calls of one group.
using Channel = std::uint32_t;

class WaitFinder {
  struct Need {
    Ns at{};
    Ns computed{};  // end of the work that computes it
    SliceId reader = no_slice;
    bool known = false;
  };
  const RankView& view_;
  const Trace& trace_;
  const std::vector<CollectiveCall>& calls_;
  std::span<const CallTime> times_;
  StreamOps stream_;
  std::vector<Ns> service_;  // by call: its transfer, without earlier work of the stream
  std::vector<Need> needs_;  // by use

 public:
  WaitFinder(const RankView& view, const RankCalls& rank, std::span<const CallTime> times)
      : view_(view),
        trace_(*view.trace),
        calls_(rank.calls),
        times_(times),
        stream_(compute_stream(view)) {}

  void run(UnitWaits& out) {
    find_services();
    for (const UnitUse& use : out.marks.uses) needs_.push_back(need_of(use));
    find_fetches(out);
    find_distances(out);
    find_reduces(out);
  }

 private:
  [[nodiscard]] Ns asked(std::uint32_t call) const {
    return trace_.slices.start[index(asked_by(calls_[call]))];
  }

  [[nodiscard]] Channel channel(const CollectiveCall& call) const {
    return view_.index->cpu_only() ? call.group : index(call.stream);
  }

  void find_services() {
    std::map<Channel, Ns> free;
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      Ns begin = calls_[c].start;
      if (times_[c].split) begin = std::max(begin, times_[c].ready);
      const auto [before, first] = free.try_emplace(channel(calls_[c]), Ns::min());
      if (!first) begin = std::max(begin, before->second);
      service_.push_back(std::max(Ns{0}, calls_[c].end - begin));
      before->second = std::max(before->second, calls_[c].end);
    }
  }

  Need need_of(const UnitUse& use) const {
    Need need;
    if (view_.index->cpu_only()) {
      need = {use.from, use.from, no_slice, true};
      if (use.waits_in_row && !use.calls.empty())
        need.at = need.computed = asked(use.calls.front());
      return need;
    }
    need.reader = stream_.first_launched_at(use.from);
    if (need.reader == no_slice) return need;
    const SliceId before = stream_.before(need.reader, trace_);
    need.computed = before == no_slice ? view_.index->start : trace_.slices.end(before);
    const SliceId launch = view_.index->launch(need.reader);
    need.at = std::max(need.computed, trace_.slices.start[index(launch)]);
    need.known = true;
    return need;
  }

  void find_fetches(UnitWaits& out) {
    const auto& uses = out.marks.uses;
    for (std::uint32_t u = 0; u < uses.size(); ++u) {
      if (uses[u].calls.empty() || !needs_[u].known) continue;
      UnitFetch f;
      f.use = u;
      f.issued = Ns::max();
      for (const std::uint32_t c : uses[u].calls) {
        f.issued = std::min(f.issued, asked(c));
        f.arrived = std::max(f.arrived, calls_[c].end);
        f.transfer += service_[c];
      }
      f.needed = needs_[u].at;
      f.reader = needs_[u].reader;
      for (std::uint32_t k = u; k-- > 0 && uses[k].go >= f.issued;) ++f.ahead;
      const bool nothing_ran = view_.index->cpu_only() ? uses[u].waits_in_row || f.ahead == 0
                                                       : f.issued >= needs_[u].computed;
      if (f.arrived > f.needed) f.verdict = nothing_ran ? FetchVerdict::miss : FetchVerdict::late;
      out.fetches.push_back(f);
    }
  }

  void find_distances(UnitWaits& out) const {
    const auto& uses = out.marks.uses;
    std::vector<ChainUse> chain(uses.size());
    std::optional<Channel> of_fetches;
    std::vector<bool> fetches(calls_.size());
    std::vector<Ns> there(uses.size());
    for (std::size_t u = 0; u < uses.size(); ++u) there[u] = needs_[u].at;
    for (const UnitFetch& f : out.fetches) {
      chain[f.use].transfer = f.transfer;
      there[f.use] = std::max(f.needed, f.arrived);
      for (const std::uint32_t c : uses[f.use].calls) fetches[c] = true;
      of_fetches = channel(calls_[uses[f.use].calls.front()]);
    }
    if (!of_fetches) return;
    for (std::size_t u = 0; u + 1 < uses.size(); ++u)
      if (uses[u].chain == uses[u + 1].chain && needs_[u].known && needs_[u + 1].known)
        chain[u].compute = std::max(Ns{0}, needs_[u + 1].at - there[u]);
    for (std::uint32_t c = 0; c < calls_.size(); ++c) {
      if (fetches[c] || channel(calls_[c]) != *of_fetches || asked_by(calls_[c]) == no_slice)
        continue;
      const auto after = std::ranges::upper_bound(uses, asked(c), {}, &UnitUse::begin);
      if (after != uses.begin())
        chain[static_cast<std::size_t>(after - uses.begin() - 1)].other += service_[c];
    }
    std::vector<std::optional<std::uint32_t>> distance;
    for (std::size_t first = 0; first < uses.size();) {
      std::size_t last = first;
      while (last < uses.size() && uses[last].chain == uses[first].chain) ++last;
      const auto part = hiding_distances(std::span(chain).subspan(first, last - first));
      distance.insert(distance.end(), part.begin(), part.end());
      first = last;
    }
    for (UnitFetch& f : out.fetches) f.distance = distance[f.use];
  }

  // End of the last operation that its thread had begun before; without a device, of the unit's
  // pass.
  std::optional<Ns> ready(const UnitReduction& reduction) const {
    if (view_.index->cpu_only()) return reduction.begin;
    const auto after = std::ranges::lower_bound(stream_.launched, reduction.begin);
    if (after == stream_.launched.begin()) return std::nullopt;
    return trace_.slices.end(
        stream_.ops[static_cast<std::size_t>(after - stream_.launched.begin() - 1)]);
  }

  // Messages of one reduction that are in flight at once count once.
  void find_reduces(UnitWaits& out) const {
    std::vector<CollectiveCall> spans;
    std::vector<std::size_t> of;  // row of out.reduces, parallel to spans
    for (std::uint32_t r = 0; r < out.marks.reductions.size(); ++r) {
      const UnitReduction& reduction = out.marks.reductions[r];
      UnitReduce reduce{.reduction = r, .ready = ready(reduction), .launched = Ns::max()};
      for (const std::uint32_t c : reduction.calls) {
        reduce.launched = std::min(reduce.launched, asked(c));
        reduce.done = std::max(reduce.done, calls_[c].end);
        if (!of.empty() && of.back() == r && calls_[c].start <= spans.back().end) {
          spans.back().end = std::max(spans.back().end, calls_[c].end);
          continue;
        }
        spans.push_back(calls_[c]);
        of.push_back(r);
      }
      out.reduces.push_back(reduce);
    }
    const std::vector<Ns> exposed = exposed_times(view_, spans);
    for (std::size_t i = 0; i < spans.size(); ++i) out.reduces[of[i]].exposed += exposed[i];
  }
};

std::size_t steps_of(std::span<const UnitWaits> waits, std::span<const RankView> views) {
  std::size_t steps = 0;
  for (std::size_t v = 0; v < waits.size(); ++v)
    if (waits[v].marks.source != UnitSource::none) steps += views[v].steps.size();
  return std::max<std::size_t>(steps, 1);
}

}  // namespace

std::vector<std::optional<std::uint32_t>> hiding_distances(std::span<const ChainUse> uses) {
  std::vector<std::optional<std::uint32_t>> distance(uses.size());
  // The first use of a chain cannot be hidden: all later needs move by that much.
  std::vector<Ns> need(uses.size() + 1);
  if (!uses.empty()) need[0] = std::max(Ns{0}, uses[0].transfer);
  std::size_t open = 0;
  for (std::size_t k = 0; k < uses.size(); ++k) {
    need[k + 1] = need[k] + uses[k].compute;
    if (k > 0 && uses[k].transfer >= Ns{0}) ++open;
  }
  for (std::size_t d = 1; d < std::min(uses.size(), most_distance) && open > 0; ++d) {
    Ns free{};
    std::size_t next = 0;  // the use whose fetch is issued next
    for (std::size_t at = 0; at < uses.size(); ++at) {
      const Ns now = at == 0 ? Ns{0} : need[at];
      for (; next < uses.size() && next <= at + d; ++next) {
        if (uses[next].transfer < Ns{0}) continue;
        free = std::max(free, now) + uses[next].transfer;
        if (next == 0 || free > need[next] || distance[next]) continue;
        distance[next] = static_cast<std::uint32_t>(d);
        --open;
      }
      free = std::max(free, need[at + 1]) + uses[at].other;
    }
  }
  return distance;
}

UnitWaits find_unit_waits(const RankView& view, const RankCalls& rank,
                          std::span<const CallTime> times, const HostPhases& phases) {
  UnitWaits out;
  out.marks = find_unit_marks(view, rank, phases);
  if (out.marks.source != UnitSource::none) {
    WaitFinder(view, rank, times).run(out);
    return out;
  }
  const auto count = [&](CollectiveKind kind) {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        rank.calls, [&](const CollectiveCall& c) { return c.step && c.kind == kind; }));
  };
  if (count(CollectiveKind::reduce_scatter) > 0) out.unknown = count(CollectiveKind::all_gather);
  return out;
}

std::vector<UnitRow> unit_rows(std::span<const UnitWaits> waits, std::span<const RankView> views) {
  struct Sums {
    UnitRow row;
    std::vector<Ns> transfers;
    std::vector<std::uint32_t> ahead;
    std::vector<std::uint32_t> distances;  // of fetches that were not hits; no_row: none
  };
  std::map<std::pair<std::string_view, UnitPass>, Sums> by_unit;
  for (std::size_t v = 0; v < waits.size(); ++v)
    for (const UnitFetch& f : waits[v].fetches) {
      const UnitUse& use = waits[v].marks.uses[f.use];
      Sums& s = by_unit[{waits[v].marks.units[use.unit], use.pass}];
      ++(f.verdict == FetchVerdict::hit    ? s.row.hits
         : f.verdict == FetchVerdict::late ? s.row.late
                                           : s.row.misses);
      if (f.verdict != FetchVerdict::hit) s.distances.push_back(f.distance.value_or(no_row));
      s.row.late_time += f.late();
      s.transfers.push_back(f.transfer);
      s.ahead.push_back(f.ahead);
      if (s.transfers.size() == 1 || f.late() > s.row.worst.fetch.late())
        s.row.worst = {views[v].rank, f};
    }
  const auto steps = static_cast<std::int64_t>(steps_of(waits, views));
  std::vector<UnitRow> rows;
  for (auto& [key, s] : by_unit) {
    s.row.unit = key.first;
    s.row.pass = key.second;
    s.row.late_time /= steps;
    s.row.transfer = upper_median(s.transfers);
    s.row.ahead = upper_median(s.ahead);
    const std::uint32_t distance = s.distances.empty() ? 0 : upper_median(s.distances);
    if (distance != no_row) s.row.distance = distance;
    rows.push_back(std::move(s.row));
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &UnitRow::late_time);
  return rows;
}

std::vector<UnitReduceRow> unit_reduce_rows(std::span<const UnitWaits> waits,
                                            std::span<const RankView> views) {
  std::map<std::string_view, std::pair<UnitReduceRow, std::vector<Ns>>> by_unit;
  for (const UnitWaits& w : waits)
    for (const UnitReduce& r : w.reduces) {
      auto& [row, lags] = by_unit[w.marks.units[w.marks.reductions[r.reduction].unit]];
      ++row.count;
      row.exposed += r.exposed;
      lags.push_back(r.ready ? r.done - *r.ready : Ns{0});
    }
  const auto steps = static_cast<std::int64_t>(steps_of(waits, views));
  std::vector<UnitReduceRow> rows;
  for (auto& [unit, sums] : by_unit) {
    sums.first.unit = unit;
    sums.first.exposed /= steps;
    sums.first.lag = upper_median(sums.second);
    rows.push_back(std::move(sums.first));
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &UnitReduceRow::exposed);
  return rows;
}

}  // namespace stepscope
