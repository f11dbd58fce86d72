// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/coarse_offset.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/matching/sequence_align.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_pairs = 6;
constexpr std::size_t most_calls = 512;    // calls of a group to examine
constexpr std::int64_t most_shift = 64;    // beyond equal beginnings or equal ends
constexpr double most_deviation_ns = 1e6;  // of ends that belong together
constexpr double unique = 0.2;             // of the deviation under the next best shift
constexpr std::size_t least_steps = 2;     // of one number on both
constexpr std::size_t most_tries = 8;      // pairs of views of two clocks

using Sequence = std::vector<AlignItem>;
using Sequences = std::map<std::uint32_t, Sequence>;  // by group; no_row = the only unnamed stream

// The calls of a view, and its numbered steps.
struct ViewCalls {
  Sequences by_group;
  std::span<const CollectiveCall> calls;
  const RankView* view = nullptr;

  [[nodiscard]] std::optional<std::int64_t> step_of(const AlignItem& item) const {
    return launching_step(*view, calls[item.call]);
  }
};

// Barrier-like calls by group. Calls without a group count if all are on one stream or on the host.
Sequences sequences_of(const RankView& view, std::uint32_t place, const RankCalls& rank) {
  Sequences by_group;
  std::optional<TrackId> stream;
  bool several = false;
  for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
    const CollectiveCall& call = rank.calls[c];
    const bool counted = is_barrier_like(call.kind) || call.kind == CollectiveKind::unknown;
    if (call.edge_count != 0 || !counted) continue;
    if (call.group == no_row && !view.index->cpu_only()) {
      several = several || (stream && *stream != call.stream);
      stream = call.stream;
    }
    Sequence& sequence = by_group[call.group];
    if (sequence.size() < most_calls) sequence.push_back(item_of(place, c, call, {}));
  }
  if (several) by_group.erase(no_row);
  return by_group;
}

struct Pattern {
  ClockCorrection of_b;
  double deviation = 0;  // median difference of ends after the correction
};

struct Difference {
  Ns at{};        // on b's clock
  double ns = 0;  // b's end minus a's
};

// Drift from the medians of the first and the last third.
Pattern pattern_of(const std::vector<Difference>& all) {
  const auto third = static_cast<std::ptrdiff_t>(all.size() / 3);
  const Ns from = all[all.size() / 6].at;
  const Ns to = all[all.size() - 1 - all.size() / 6].at;
  const auto median_of_third = [&](std::ptrdiff_t first) {
    std::vector<double> ns;
    for (std::ptrdiff_t i = first; i < first + third; ++i)
      ns.push_back(all[static_cast<std::size_t>(i)].ns);
    return upper_median(ns);
  };
  const double rise = median_of_third(std::ssize(all) - third) - median_of_third(0);
  Pattern found;
  found.of_b.at = all[all.size() / 2].at;
  if (to > from) found.of_b.drift = rise / static_cast<double>((to - from).count());
  if (std::abs(found.of_b.drift) > most_drift) found.of_b.drift = 0;
  const auto drifted = [&](const Difference& d) {
    return d.ns - found.of_b.drift * static_cast<double>((d.at - found.of_b.at).count());
  };
  std::vector<double> off;
  for (const Difference& d : all) off.push_back(drifted(d));
  const double offset = *median(off);
  found.of_b.offset = Ns{std::llround(offset)};
  for (double& d : off) d = std::abs(d - offset);
  found.deviation = *median(off);
  return found;
}

std::optional<Pattern> pattern_under(const Sequence& a, const Sequence& b, std::int64_t shift) {
  const auto a_size = static_cast<std::int64_t>(a.size());
  const auto b_size = static_cast<std::int64_t>(b.size());
  std::vector<Difference> differences;
  std::size_t pairs = 0;
  for (std::int64_t i = std::max<std::int64_t>(0, -shift); i < std::min(b_size, a_size - shift);
       ++i) {
    const AlignItem& x = a[static_cast<std::size_t>(i + shift)];
    const AlignItem& y = b[static_cast<std::size_t>(i)];
    ++pairs;
    if (disagreement(x, y).empty())
      differences.push_back({y.end, static_cast<double>((y.end - x.end).count())});
  }
  const std::size_t shorter = std::min(a.size(), b.size());
  if (pairs < least_pairs || pairs * 2 < shorter || differences.size() * 10 < pairs * 9)
    return std::nullopt;
  return pattern_of(differences);
}

std::optional<Pattern> unique_pattern(const Sequence& a, const Sequence& b) {
  const auto both = static_cast<std::int64_t>(a.size()) - static_cast<std::int64_t>(b.size());
  std::optional<Pattern> best;
  double next = INFINITY;
  for (std::int64_t shift = std::min<std::int64_t>(0, both) - most_shift;
       shift <= std::max<std::int64_t>(0, both) + most_shift; ++shift) {
    const auto tried = pattern_under(a, b, shift);
    if (!tried) continue;
    if (!best || tried->deviation < best->deviation) {
      if (best) next = std::min(next, best->deviation);
      best = tried;
    } else {
      next = std::min(next, tried->deviation);
    }
  }
  if (!best || best->deviation > most_deviation_ns || best->deviation > unique * next)
    return std::nullopt;
  return best;
}

// How far b's clock is ahead if steps of one number are the same ones: the ends of their last calls
// are nearly equally far apart in all of them.
std::optional<Ns> offset_by_steps(const ViewCalls& a, const ViewCalls& b, const Sequence& of_a,
                                  const Sequence& of_b) {
  std::map<std::int64_t, Ns> last;  // of a
  for (const AlignItem& item : of_a)
    if (const auto step = a.step_of(item)) last[*step] = item.end;
  std::map<std::int64_t, Ns> apart;
  for (const AlignItem& item : of_b)
    if (const auto step = b.step_of(item); step && last.contains(*step))
      apart[*step] = item.end - last.at(*step);
  if (apart.size() < least_steps) return std::nullopt;
  std::vector<double> values;
  for (const auto& [step, time] : apart) values.push_back(static_cast<double>(time.count()));
  const double offset = *median(values);
  for (double& v : values) v = std::abs(v - offset);
  if (*median(values) > most_deviation_ns) return std::nullopt;
  return Ns{std::llround(offset)};
}

// A pattern that repeats in each step fits at a step's distance, too: the numbers of the steps then
// say which distance is right. Without numbers nothing contradicts.
bool contradicts_steps(const ViewCalls& a, const ViewCalls& b, std::optional<Ns> by_steps,
                       const ClockCorrection& pattern) {
  const Ns step =
      std::min(mean_step_of(*a.view).value_or(Ns{0}), mean_step_of(*b.view).value_or(Ns{0}));
  return by_steps && std::chrono::abs(*by_steps) <= step / 4 &&
         std::chrono::abs(pattern.offset - *by_steps) > step / 4;
}

// From b's clock to a's; identity if their calls run together.
std::optional<ClockCorrection> between(const ViewCalls& of_a, const ViewCalls& of_b) {
  const Sequences& a = of_a.by_group;
  const Sequences& b = of_b.by_group;
  std::optional<ClockCorrection> correction;
  std::size_t most = 0;
  for (const auto& [group, calls] : a) {
    const auto other = b.find(group);
    if (other == b.end()) continue;
    if (run_together(calls, other->second)) return ClockCorrection{};
    const std::size_t size = std::min(calls.size(), other->second.size());
    if (size <= most) continue;
    if (const auto pattern = unique_pattern(calls, other->second)) {
      if (contradicts_steps(of_a, of_b, offset_by_steps(of_a, of_b, calls, other->second),
                            pattern->of_b))
        return ClockCorrection{};
      correction = pattern->of_b;
      most = size;
    }
  }
  return correction;
}

}  // namespace

std::vector<ClockCorrection> coarse_offsets(std::span<const RankView> views,
                                            std::span<const RankCalls> ranks,
                                            const HostClocks& clocks) {
  const std::size_t count = clocks.clocks.size();
  std::vector<ClockCorrection> by_view(views.size());
  if (any_relative(views) || count < 2) return by_view;
  std::vector<ViewCalls> sequences;
  std::vector<std::vector<std::uint32_t>> views_of(count);
  for (std::uint32_t v = 0; v < views.size(); ++v) {
    sequences.push_back({sequences_of(views[v], v, ranks[v]), ranks[v].calls, &views[v]});
    views_of[clocks.of_view[v]].push_back(v);
  }
  std::vector<std::optional<ClockCorrection>> found(count);
  found[0].emplace();
  // b to a, then a to the first clock. Offsets and drifts are small compared with the times they
  // act on.
  const auto place = [&](std::size_t known, std::size_t wanted) {
    std::size_t tries = 0;
    for (const std::uint32_t a : views_of[known])
      for (const std::uint32_t b : views_of[wanted]) {
        if (tries++ == most_tries) return;
        auto correction = between(sequences[a], sequences[b]);
        if (!correction) continue;
        const Ns through = (*correction)(correction->at);
        correction->offset = correction->at - (*found[known])(through);
        correction->drift += found[known]->drift;
        found[wanted] = correction;
        return;
      }
  };
  // Breadth first over the clocks that share a group.
  std::vector<std::size_t> reached = {0};
  for (std::size_t k = 0; k < reached.size(); ++k)
    for (std::size_t c = 0; c < count; ++c) {
      if (found[c]) continue;
      place(reached[k], c);
      if (found[c]) reached.push_back(c);
    }
  for (std::size_t v = 0; v < views.size(); ++v)
    by_view[v] = found[clocks.of_view[v]].value_or(ClockCorrection{});
  return by_view;
}

}  // namespace stepscope
