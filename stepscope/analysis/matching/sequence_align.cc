// SPDX-License-Identifier: Apache-2.0
// Calls of one collective overlap in time. Shifts are proposed by a few calls spread over the
// shorter capture and the calls near them on the other rank. Each proposal is then scored in full.
#include "stepscope/analysis/matching/sequence_align.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <vector>

#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t anchors = 32;    // calls that propose shifts
constexpr std::size_t neighbours = 3;  // calls of the other rank examined near an anchor
constexpr std::size_t most_proposals = 24;

bool counts_may_differ(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all || kind == CollectiveKind::gather ||
         kind == CollectiveKind::scatter;
}

// An all-to-all runs as a SendRecv kernel, so a bare kernel name does not contradict it.
bool kinds_agree(CollectiveKind a, CollectiveKind b) {
  if (a == b || !is_known(a) || !is_known(b)) return true;
  const auto pair = [&](CollectiveKind x, CollectiveKind y) {
    return (a == x && b == y) || (a == y && b == x);
  };
  return pair(CollectiveKind::send_recv, CollectiveKind::all_to_all);
}

bool overlap(const AlignItem& a, const AlignItem& b) {
  return a.start <= b.end && b.start <= a.end;
}

Alignment score(std::span<const AlignItem> a, std::span<const AlignItem> b, std::int64_t shift) {
  Alignment found;
  found.shift = shift;
  const auto a_size = static_cast<std::int64_t>(a.size());
  const auto b_size = static_cast<std::int64_t>(b.size());
  const std::int64_t first = std::max<std::int64_t>(0, -shift);
  const std::int64_t last = std::min(b_size, a_size - shift);
  for (std::int64_t i = first; i < last; ++i) {
    const AlignItem& x = a[static_cast<std::size_t>(i + shift)];
    const AlignItem& y = b[static_cast<std::size_t>(i)];
    ++found.pairs;
    if (!disagreement(x, y).empty()) continue;
    ++found.agreeing;
    if (overlap(x, y)) ++found.together;
  }
  return found;
}

// The most frequent proposals; they always include no shift and equal ends.
std::vector<std::int64_t> proposed(std::span<const AlignItem> a, std::span<const AlignItem> b) {
  const std::int64_t equal_ends = std::ssize(a) - std::ssize(b);
  std::map<std::int64_t, std::size_t> votes;
  ++votes[0];
  ++votes[equal_ends];
  const std::size_t stride = std::max<std::size_t>(1, b.size() / anchors);
  for (std::size_t i = 0; i < b.size(); i += stride) {
    const auto after = std::ranges::upper_bound(a, b[i].end, {}, &AlignItem::start);
    auto at = after - a.begin();
    for (std::size_t k = 0; k < neighbours && at > 0; ++k) {
      --at;
      if (!overlap(a[static_cast<std::size_t>(at)], b[i])) break;
      ++votes[at - static_cast<std::int64_t>(i)];
    }
  }
  std::vector<std::pair<std::size_t, std::int64_t>> most;
  for (const auto& [shift, count] : votes) most.emplace_back(count, shift);
  std::ranges::sort(most, std::ranges::greater{});
  if (most.size() > most_proposals) most.resize(most_proposals);
  std::vector<std::int64_t> chosen;
  for (const auto& [count, shift] : most) chosen.push_back(shift);
  for (const std::int64_t shift : {std::int64_t{0}, equal_ends})
    if (std::ranges::find(chosen, shift) == chosen.end()) chosen.push_back(shift);
  return chosen;
}

}  // namespace

std::string_view disagreement(const AlignItem& a, const AlignItem& b) {
  if (!kinds_agree(a.kind, b.kind)) return "kind";
  if (!a.dtype.empty() && !b.dtype.empty() && a.dtype != b.dtype) return "type";
  const bool counted = a.elements >= 0 && b.elements >= 0 && a.elements != b.elements;
  return counted && !counts_may_differ(a.kind) && !counts_may_differ(b.kind) ? "count" : "";
}

AlignItem item_of(std::uint32_t view, std::uint32_t c, const CollectiveCall& call,
                  const ClockCorrection& clock, Ns slack) {
  return {.view = view,
          .call = c,
          .kind = call.kind,
          .dtype = call.dtype,
          .elements = call.elements,
          .start = clock(call.start) - slack,
          .end = clock(call.end) + slack};
}

bool run_together(std::span<const AlignItem> a, std::span<const AlignItem> b) {
  const auto found = align(a, b);
  return found && found->pairs * 2 >= std::min(a.size(), b.size()) &&
         found->together * 10 >= found->pairs * 9;
}

std::optional<Alignment> align(std::span<const AlignItem> a, std::span<const AlignItem> b) {
  if (a.empty() || b.empty()) return std::nullopt;
  std::optional<Alignment> best;
  const auto key = [](const Alignment& x) {
    return std::tuple(x.together, x.agreeing, -std::abs(x.shift));
  };
  for (const std::int64_t shift : proposed(a, b)) {
    const Alignment tried = score(a, b, shift);
    if (tried.agreeing != 0 && (!best || key(tried) > key(*best))) best = tried;
  }
  return best;
}

namespace {

struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
};

class Placer {
  std::span<const AlignItem> a_;
  std::span<const AlignItem> b_;
  Places places_;

 public:
  Placer(std::span<const AlignItem> a, std::span<const AlignItem> b)
      : a_(a), b_(b), places_(b.size()) {}

  Places run() {
    place({0, a_.size()}, {0, b_.size()}, 0);
    fill();
    return std::move(places_);
  }

 private:
  [[nodiscard]] bool fits(std::size_t a, std::size_t b) const {
    return overlap(a_[a], b_[b]) && disagreement(a_[a], b_[b]).empty();
  }

  // Range in b: the longest run of fitting pairs, interrupted by at most two pairs that do not fit.
  Range longest_block(Range a, Range b, std::int64_t shift) const {
    constexpr std::size_t interruption = 3;
    Range best;
    std::size_t best_fitting = 0;
    Range block;
    std::size_t fitting = 0;
    std::size_t failing = interruption;
    for (std::size_t i = b.first; i < b.last; ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i) + shift;
      if (at < static_cast<std::int64_t>(a.first) || at >= static_cast<std::int64_t>(a.last))
        continue;
      if (!fits(static_cast<std::size_t>(at), i)) {
        ++failing;
        continue;
      }
      if (failing >= interruption) {
        block.first = i;
        fitting = 0;
      }
      failing = 0;
      block.last = i + 1;
      if (++fitting > best_fitting) {
        best = block;
        best_fitting = fitting;
      }
    }
    return best;
  }

  void place(Range a, Range b, int depth) {
    constexpr int deepest = 64;
    if (depth == deepest || a.first >= a.last || b.first >= b.last) return;
    const auto found =
        align(a_.subspan(a.first, a.last - a.first), b_.subspan(b.first, b.last - b.first));
    if (!found || found->together == 0) return;
    const std::int64_t shift =
        found->shift + static_cast<std::int64_t>(a.first) - static_cast<std::int64_t>(b.first);
    const Range block = longest_block(a, b, shift);
    const auto in_a = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<std::int64_t>(i) + shift);
    };
    for (std::size_t i = block.first; i < block.last; ++i)
      places_[i] = static_cast<std::int64_t>(in_a(i));
    place({a.first, in_a(block.first)}, {b.first, block.first}, depth + 1);
    place({in_a(block.last), a.last}, {block.last, b.last}, depth + 1);
  }

  void fill() {
    const auto shift_at = [&](std::size_t i) { return *places_[i] - static_cast<std::int64_t>(i); };
    std::optional<std::int64_t> left;
    for (std::size_t i = 0; i < places_.size();) {
      if (places_[i]) {
        left = shift_at(i++);
        continue;
      }
      std::size_t j = i;
      while (j < places_.size() && !places_[j]) ++j;
      const auto right = j < places_.size() ? std::optional(shift_at(j)) : left;
      if (!left) left = right;
      for (; left && left == right && i < j; ++i) places_[i] = static_cast<std::int64_t>(i) + *left;
      i = j;
    }
  }
};

}  // namespace

Places place_beside(std::span<const AlignItem> a, std::span<const AlignItem> b) {
  return Placer(a, b).run();
}

namespace {

using Counts = std::map<std::int64_t, std::int64_t>;  // of calls, by step

Counts counts_of(std::span<const StepItem> sequence) {
  Counts counts;
  for (const StepItem& item : sequence)
    if (item.step) ++counts[*item.step];
  return counts;
}

// The number of calls that most sequences have, of equal ones the larger; by step.
Counts usual_counts(std::span<const Counts> counts) {
  std::map<std::int64_t, Counts> votes;  // step → calls → sequences
  for (const Counts& of_sequence : counts)
    for (const auto& [step, calls] : of_sequence) ++votes[step][calls];
  Counts usual;
  for (const auto& [step, sequences] : votes) {
    std::int64_t most = 0;
    for (const auto& [calls, number] : sequences)
      if (number >= most) {
        most = number;
        usual[step] = calls;
      }
  }
  return usual;
}

bool near_in_time(std::span<const std::vector<StepItem>> sequences, std::span<const Places> places,
                  Ns step_length) {
  std::map<std::int64_t, Ns> first;  // ends of the first sequence that has the place
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    std::vector<Ns> apart;
    for (std::size_t i = 0; i < sequences[s].size(); ++i) {
      if (!places[s][i]) continue;
      const auto [at, fresh] = first.try_emplace(*places[s][i], sequences[s][i].end);
      if (!fresh) apart.push_back(std::chrono::abs(sequences[s][i].end - at->second));
    }
    if (!apart.empty() && upper_median(apart) > step_length / 4) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Places>> places_by_step(std::span<const std::vector<StepItem>> sequences,
                                                  Ns step_length) {
  std::vector<Counts> counts;
  counts.reserve(sequences.size());
  for (const auto& sequence : sequences) counts.push_back(counts_of(sequence));
  const Counts usual = usual_counts(counts);
  Counts first;
  std::int64_t total = 0;
  for (const auto& [step, calls] : usual) {
    first[step] = total;
    total += calls;
  }
  std::vector<Places> places;
  std::size_t placed = 0;
  std::size_t all = 0;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    Places& mine = places.emplace_back(sequences[s].size());
    Counts seen;
    for (std::size_t i = 0; i < sequences[s].size(); ++i) {
      const auto step = sequences[s][i].step;
      ++all;
      if (!step || counts[s][*step] != usual.at(*step)) continue;
      mine[i] = first[*step] + seen[*step]++;
      ++placed;
    }
  }
  if (2 * placed <= all || !near_in_time(sequences, places, step_length)) return std::nullopt;
  return places;
}

std::optional<Ns> mean_step_of(const RankView& view) {
  if (view.steps.empty()) return std::nullopt;
  return (view.steps.back().end - view.steps.front().start) / std::ssize(view.steps);
}

std::optional<std::int64_t> launching_step(const RankView& view, const CollectiveCall& call) {
  if (call.launch == no_slice) return std::nullopt;
  const Ns at = view.trace->slices.start[index(call.launch)];
  const std::int32_t last = last_step_of_host(view.steps, at);
  if (last < 0) return std::nullopt;
  const Step& step = view.steps[static_cast<std::size_t>(last)];
  // The last step ends with its annotation; an earlier one goes on to the next.
  if (!step_number(step.name) || (&step == &view.steps.back() && at >= step.host_end))
    return std::nullopt;
  return step.index;
}

}  // namespace stepscope
