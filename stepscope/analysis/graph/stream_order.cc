// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/stream_order.h"

#include <algorithm>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr Ns rounded = std::chrono::microseconds{1};  // coarsest rounding of recorded instants
constexpr std::size_t one_in = 100;   // operations may contradict the order of their stream
constexpr std::size_t branches = 64;  // of a graph, that are looked at
constexpr Ns shortest_slice = std::chrono::microseconds{500};

// The operations of one stream, by start: indices into all.
class Stream {
 public:
  Stream(const Trace& trace, const RankIndex& rank, std::span<const SliceId> ops,
         std::span<const std::uint32_t> own, std::vector<StreamPlace>& places)
      : trace_(trace), rank_(rank), ops_(ops), own_(own), places_(places) {}

  void place() {
    const bool in_order = is_stream();
    std::uint32_t last = no_use;  // the operation with the latest end
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const std::uint32_t op = own_[i];
      StreamPlace& place = places_[op];
      place.end = end(op);
      place.before = last;
      if (last != no_use && places_[last].end > start(op)) {
        const bool contained = place.end + rounded < places_[last].end;
        if (same_launch(op, last) || (contained && !in_order)) {
          place.before = ended_before(i);
        } else {
          places_[last].end = start(op);
          places_[last].unknown_end = places_[last].unknown_end || contained;
        }
      }
      if (last == no_use || place.end >= places_[last].end) last = op;
    }
  }

 private:
  [[nodiscard]] Ns start(std::uint32_t op) const { return trace_.slices.start[index(ops_[op])]; }
  [[nodiscard]] Ns end(std::uint32_t op) const { return trace_.slices.end(ops_[op]); }
  [[nodiscard]] bool same_launch(std::uint32_t a, std::uint32_t b) const {
    const SliceId call = rank_.launch(ops_[a]);
    if (call != no_slice) return call == rank_.launch(ops_[b]);
    const std::uint32_t number = rank_.launch_number(ops_[a]);
    return number != 0 && number == rank_.launch_number(ops_[b]);
  }

  // At most one operation in a hundred, or one of a few, ends after a later one has ended.
  [[nodiscard]] bool is_stream() const {
    std::size_t impossible = 0;
    std::uint32_t last = no_use;
    bool counted = false;  // `last`
    for (const std::uint32_t op : own_) {
      if (last != no_use && end(op) + rounded < end(last) && !same_launch(op, last)) {
        if (!counted) ++impossible;
        counted = true;
      }
      if (last == no_use || end(op) >= end(last)) {
        last = op;
        counted = false;
      }
    }
    return impossible <= std::max<std::size_t>(1, own_.size() / one_in);
  }

  // The operation before the i-th that ended last before the i-th began; no_use without such an
  // operation.
  [[nodiscard]] std::uint32_t ended_before(std::size_t i) const {
    const Ns begin = start(own_[i]);
    std::uint32_t best = no_use;
    for (std::size_t back = 1; back <= std::min(i, branches); ++back) {
      const std::uint32_t op = own_[i - back];
      if (places_[op].end <= begin && (best == no_use || places_[op].end > places_[best].end))
        best = op;
    }
    return best;
  }

  const Trace& trace_;
  const RankIndex& rank_;
  std::span<const SliceId> ops_;
  std::span<const std::uint32_t> own_;
  std::vector<StreamPlace>& places_;
};

}  // namespace

std::vector<StreamPlace> stream_order(const Trace& trace, const RankIndex& rank,
                                      std::span<const SliceId> ops) {
  std::vector<std::vector<std::uint32_t>> of_track(trace.tracks.size());
  for (std::uint32_t i = 0; i < ops.size(); ++i)
    of_track[index(trace.slices.track[index(ops[i])])].push_back(i);
  std::vector<StreamPlace> places(ops.size());
  for (const std::vector<std::uint32_t>& own : of_track)
    Stream(trace, rank, ops, own, places).place();
  return places;
}

std::vector<std::uint64_t> launch_order(const Trace& trace, const RankIndex& rank,
                                        std::span<const SliceId> ops) {
  constexpr std::uint64_t recorded = std::uint64_t{1} << 32U;  // above all numbers
  std::vector<std::uint64_t> order(ops.size(), 0);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const SliceId call = rank.launch(ops[i]);
    order[i] = call == no_slice
                   ? rank.launch_number(ops[i])
                   : recorded + static_cast<std::uint64_t>(
                                    (trace.slices.start[index(call)] - rank.start).count());
  }
  return order;
}

std::vector<std::size_t> find_holds(std::span<const IdleStretch> stretches) {
  const auto length = [](const IdleStretch& s) { return s.until - s.since; };
  std::vector<Ns> lengths;
  for (const IdleStretch& s : stretches) lengths.push_back(length(s));
  if (lengths.size() < held_often) return {};
  const Ns slice = upper_median(lengths);
  const auto as_long = [&](Ns time) { return 10 * std::chrono::abs(time - slice) <= slice; };
  const auto alike = static_cast<std::size_t>(std::ranges::count_if(lengths, as_long));
  if (slice < shortest_slice || 4 * alike < 3 * lengths.size()) return {};
  std::vector<std::size_t> held;
  for (std::size_t i = 0; i < stretches.size(); ++i)
    if (as_long(length(stretches[i])) && stretches[i].until - stretches[i].ready >= held_long)
      held.push_back(i);
  if (held.size() < held_often) held.clear();
  return held;
}

}  // namespace stepscope
