// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/stack_join.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace stepscope {
namespace {

// a + b if it does not overflow.
std::optional<Ns> sum_of(Ns a, Ns b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a.count(), b.count(), &sum)) return std::nullopt;
  return Ns{sum};
}

// The first piece that ends after `at`.
const BudgetPiece* first_after(std::span<const BudgetPiece> pieces, Ns at) {
  return std::to_address(std::ranges::upper_bound(pieces, at, {}, &BudgetPiece::end));
}

DeviceMeanwhile at_instant(std::span<const BudgetPiece> pieces, Ns at) {
  DeviceMeanwhile out;
  const BudgetPiece* piece = first_after(pieces, at);
  if (piece != std::to_address(pieces.end()) && piece->start <= at)
    out.device[static_cast<std::size_t>(piece->category)] = 1;
  else
    out.outside = 1;
  return out;
}

DeviceMeanwhile overlap(std::span<const BudgetPiece> pieces, Ns start, Ns end) {
  DeviceMeanwhile out;
  Ns inside{};
  for (const BudgetPiece* p = first_after(pieces, start);
       p != std::to_address(pieces.end()) && p->start < end; ++p) {
    const Ns part = std::min(end, p->end) - std::max(start, p->start);
    out.device[static_cast<std::size_t>(p->category)] += static_cast<double>(part.count());
    inside += part;
  }
  out.outside = static_cast<double>((end - start - inside).count());
  return out;
}

DeviceMeanwhile outside_all(Ns duration) {
  DeviceMeanwhile out;
  out.outside = duration > Ns{0} ? static_cast<double>(duration.count()) : 1;
  return out;
}

class Threads {
 public:
  explicit Threads(const Profile& profile) {
    for (std::uint32_t t = 0; t < profile.threads.size(); ++t)
      by_node_.emplace_back(profile.threads[t].node, t);
    std::ranges::sort(by_node_);
  }
  // The trees of threads are stored one after the other.
  [[nodiscard]] std::uint32_t of(std::uint32_t node) const {
    const auto after =
        std::ranges::upper_bound(by_node_, node, {}, [](auto& p) { return p.first; });
    return std::prev(after)->second;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_node_;
};

using Cells = std::map<std::pair<std::uint16_t, std::uint8_t>, JoinedPhase>;

JoinedThread thread_of(std::uint32_t thread, const Cells& cells) {
  JoinedThread out;
  out.thread = thread;
  for (const auto& [key, cell] : cells) {
    out.phases.push_back(cell);
    out.weight += cell.weight;
    out.meanwhile += cell.meanwhile;
  }
  std::ranges::stable_sort(out.phases, std::ranges::greater{}, &JoinedPhase::weight);
  return out;
}

}  // namespace

double DeviceMeanwhile::inside() const {
  return std::accumulate(device.begin(), device.end(), 0.0);
}

double DeviceMeanwhile::idle() const {
  return std::accumulate(device.begin() + static_cast<std::ptrdiff_t>(BudgetCategory::idle_data),
                         device.end(), 0.0);
}

DeviceMeanwhile& DeviceMeanwhile::operator+=(const DeviceMeanwhile& other) {
  for (std::size_t c = 0; c < device.size(); ++c) device[c] += other.device[c];
  outside += other.outside;
  return *this;
}

Message why_not_joined(const ProfileInput& input, const JoinQuestion& question) {
  if (input.times == SampleTimes::none) return msg::format_without_instants(input.format);
  if (input.times == SampleTimes::gapless && !question.gapless) return msg::samples_left_out();
  const bool trace_counts = question.clock == Clock::unix_epoch;
  if (question.offset || (input.unix_clock && trace_counts)) return {};
  return msg::not_from_epoch(!input.unix_clock && !trace_counts, input.unix_clock);
}

StackJoin join_stacks(const Profile& profile, const NodePhases& phases, std::uint32_t input,
                      Ns offset, std::span<const BudgetPiece> pieces) {
  StackJoin out;
  const Threads threads(profile);
  std::vector<Cells> cells(profile.threads.size());
  bool any = false;
  for (const TimedSample& s : profile.samples) {
    const std::uint32_t thread = threads.of(s.node);
    if (profile.threads[thread].input != input) continue;
    const bool instant = s.duration == Ns{0};
    if (instant && profile.unit != WeightUnit::samples) continue;  // weighs nothing
    const auto start = sum_of(s.start, offset);
    const auto end = start ? sum_of(*start, s.duration) : std::nullopt;
    DeviceMeanwhile meanwhile = outside_all(s.duration);
    if (end) {
      meanwhile = instant ? at_instant(pieces, *start) : overlap(pieces, *start, *end);
      out.first = any ? std::min(out.first, *start) : *start;
      out.last = any ? std::max(out.last, *end) : *end;
      any = true;
    }
    JoinedPhase& cell = cells[thread][{phases.self[s.node], phases.pass[s.node]}];
    cell.phase = phases.self[s.node];
    cell.pass = phases.pass[s.node];
    cell.weight += instant ? 1 : static_cast<double>(s.duration.count());
    cell.meanwhile += meanwhile;
  }
  for (std::uint32_t t = 0; t < cells.size(); ++t)
    if (!cells[t].empty()) out.threads.push_back(thread_of(t, cells[t]));
  return out;
}

}  // namespace stepscope
