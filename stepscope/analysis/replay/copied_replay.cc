// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/copied_replay.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "stepscope/analysis/replay/peer_median.h"

namespace stepscope {
namespace {

constexpr std::uint32_t not_a_piece = ~std::uint32_t{0};

// The times that other ranks and steps have of each piece.
class Drawn {
 public:
  Drawn(const WhatIfInputs& in, const StepPieces& pieces)
      : in_(in), pieces_(pieces), piece_of_(in.replay.graph->size(), not_a_piece) {
    number_keys();
    sort_by_key();
    peers_.resize(in.views.size());
    for (std::uint32_t a = 0; a < in.views.size(); ++a)
      for (std::uint32_t b = 0; b < in.views.size(); ++b)
        if (in.roles.empty() || in.roles[a] == in.roles[b]) peers_[a].push_back(b);
  }

  // Duration and delay of a node in a copy.
  [[nodiscard]] std::pair<Ns, Ns> of(std::uint32_t node, std::size_t copy,
                                     std::uint32_t draw) const {
    const Replay& r = in_.replay;
    const std::pair own{r.measured.duration[node], r.measured.delay(node)};
    const std::uint32_t p = piece_of_[node];
    if (copy == 0 || p == not_a_piece || keeps_delay(r, node)) return own;
    const StepPiece& piece = pieces_.all[p];
    const std::uint32_t view = r.graph->view[node];
    // All copies of a collective transfer together.
    const bool together = is_message(r.graph->kind[node]);
    const std::uint32_t player = together ? view : player_of(view, copy, draw);
    const std::size_t row = player * (keys_ + 1) + key_[p];
    const auto nodes = std::span(sorted_).subspan(first_[row], first_[row + 1] - first_[row]);
    if (nodes.empty()) return own;
    const std::uint64_t place =
        hash_pair(hash_pair(together ? 0 : copy, player),
                  hash_pair(static_cast<std::uint64_t>(std::int64_t{piece.step} + 1), draw));
    // The first step, with which the recording began, counts in no mean.
    const std::uint32_t first = steps_ > 2 ? 2 : 1;
    if (static_cast<std::uint32_t>(piece.step + 1) < first || steps_ <= first) return own;
    const auto wanted = static_cast<std::uint32_t>(first + place % (steps_ - first));
    const auto step_of = [&](std::uint32_t n) {
      return static_cast<std::uint32_t>(pieces_.all[piece_of_[n]].step + 1);
    };
    const auto at = std::ranges::lower_bound(nodes, wanted, {}, step_of);
    if (at == nodes.end() || step_of(*at) != wanted) return own;
    const std::uint32_t other = *at;
    if (keeps_delay(r, other)) return own;
    return {r.measured.duration[other], together ? own.second : r.measured.delay(other)};
  }

 private:
  void number_keys() {
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;
    key_.resize(pieces_.all.size());
    for (std::uint32_t p = 0; p < pieces_.all.size(); ++p) {
      const auto next = static_cast<std::uint32_t>(numbers.size());
      key_[p] = numbers.try_emplace(pieces_.all[p].key, next).first->second;
      piece_of_[pieces_.all[p].node] = p;
      steps_ = std::max(steps_, static_cast<std::uint32_t>(pieces_.all[p].step + 2));
    }
    keys_ = numbers.size();
  }
  // The nodes of each view and key, by step.
  void sort_by_key() {
    first_.assign(in_.views.size() * (keys_ + 1) + 1, 0);
    const auto row = [&](std::uint32_t p) {
      return in_.replay.graph->view[pieces_.all[p].node] * (keys_ + 1) + key_[p];
    };
    for (std::uint32_t p = 0; p < key_.size(); ++p) ++first_[row(p) + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<std::uint32_t> next(first_.begin(), first_.end());
    sorted_.resize(key_.size());
    std::vector<std::uint32_t> by_step(key_.size());
    std::iota(by_step.begin(), by_step.end(), 0U);
    std::ranges::stable_sort(by_step, {}, [&](std::uint32_t p) { return pieces_.all[p].step; });
    for (const std::uint32_t p : by_step) sorted_[next[row(p)]++] = pieces_.all[p].node;
  }
  [[nodiscard]] std::uint32_t player_of(std::uint32_t view, std::size_t copy,
                                        std::uint32_t draw) const {
    const auto& peers = peers_[view];
    return peers[hash_pair(hash_pair(copy, view), draw) % peers.size()];
  }

  const WhatIfInputs& in_;
  const StepPieces& pieces_;
  std::vector<std::uint32_t> piece_of_;  // by node
  std::vector<std::uint32_t> key_;       // by piece: number of its key
  std::size_t keys_ = 0;
  std::uint32_t steps_ = 1;           // numbers of steps; the first is before any step
  std::vector<std::uint32_t> first_;  // by view and key: of its nodes in sorted_
  std::vector<std::uint32_t> sorted_;
  std::vector<std::vector<std::uint32_t>> peers_;  // by view: those of its role
};

// Whether a node is the start of a transfer that all copies make together.
bool joins_copies(const WhatIfInputs& in, const CopiedJob& job, std::uint32_t node) {
  const StepGraph& graph = *in.replay.graph;
  if (graph.kind[node] != NodeKind::join || graph.detail[node] == no_row) return false;
  const std::uint32_t group = in.collectives.matches.matched[graph.detail[node]].group;
  return group != no_row && group < job.joined.size() && job.joined[group];
}

bool is_left_out(const CopiedJob& job, std::uint32_t view) {
  return view < job.left_out.size() && job.left_out[view];
}

}  // namespace

std::size_t most_copies(const StepGraph& graph) {
  return std::max<std::size_t>(1, most_copied_nodes / std::max<std::size_t>(1, graph.size()));
}

Ns copied_step(const WhatIfInputs& in, const StepPieces& pieces, const CopiedJob& job) {
  const StepGraph& graph = *in.replay.graph;
  check(job.copies >= 1 && job.copies <= most_copies(graph), "copies fit in memory");
  const Drawn drawn(in, pieces);
  const std::size_t copies = job.copies;
  std::vector<Ns> end(graph.size() * copies);
  std::vector<Ns> last(graph.size());  // over the copies
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    Ns* const at = end.data() + n * copies;
    const bool join = joins_copies(in, job, n);
    Ns all = Ns::min();
    for (std::size_t c = 0; c < copies; ++c) {
      Ns start{};
      bool any = false;
      for (const std::uint32_t p : graph.graph.preds_of(n)) {
        if (join && is_left_out(job, graph.view[p])) continue;
        start = any ? std::max(start, end[p * copies + c]) : end[p * copies + c];
        any = true;
      }
      auto [duration, delay] = drawn.of(n, c, job.draw);
      if (!job.factor.empty() && job.factor[n] != 1)
        duration = Ns{std::llround(static_cast<double>(duration.count()) * job.factor[n])};
      if (!job.repeat.empty() && job.repeat[n] != 1) {
        duration = Ns{std::llround(static_cast<double>(duration.count()) * job.repeat[n])};
        if (!keeps_delay(in.replay, n))
          delay = Ns{std::llround(static_cast<double>(delay.count()) * job.repeat[n])};
      }
      at[c] = start + delay + duration;
      all = std::max(all, at[c]);
    }
    if (join) std::fill(at, at + copies, all);
    last[n] = is_left_out(job, graph.view[n]) ? Ns{0} : all;
  }
  return step_time(graph, in.replay.measured.duration, last);
}

}  // namespace stepscope
