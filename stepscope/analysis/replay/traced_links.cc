// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/traced_links.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace stepscope {
namespace {

double rounds(CollectiveKind kind, double n) {
  const bool tree = kind == CollectiveKind::all_reduce || kind == CollectiveKind::broadcast ||
                    kind == CollectiveKind::reduce || kind == CollectiveKind::barrier;
  return tree ? std::log2(n) : n - 1;
}

double rings_of(CollectiveKind kind) { return kind == CollectiveKind::all_reduce ? 2 : 1; }

}  // namespace

double TracedLinks::factor(const CollectiveCall& call, double members, double n, double bytes) {
  const double latency = latency_share(call);
  const double traffic = bytes * ((n - 1) / n) / ((members - 1) / members);
  return latency * rounds(call.kind, n) / rounds(call.kind, members) + (1 - latency) * traffic;
}

double TracedLinks::latency_share(const CollectiveCall& call) {
  if (call.kind == CollectiveKind::barrier) return 1;
  if (!call.bytes || call.bytes->value <= 0) return 0;
  const auto bytes = static_cast<double>(call.bytes->value);
  const MessageCarrier carrier{call.kind, call.group};
  auto known = times_.find(carrier);
  if (known == times_.end())
    known = times_.emplace(carrier, message_times(in_, {carrier}).front()).first;
  const auto& fit = known->second.fit;
  if (!fit) {
    const auto [share, fresh] = shares_.try_emplace({carrier, call.bytes->value}, 0);
    if (fresh) share->second = latency_of_shortest(call, bytes);
    return share->second;
  }
  const AlphaBetaPiece* piece = &fit->pieces.front();
  for (const AlphaBetaPiece& p : fit->pieces)
    if (bytes >= p.from) piece = &p;
  const double all = piece->start + piece->slope * bytes;
  return all > 0 ? piece->start / all : 0;
}

// No message takes less than its latency. So a much smaller message of the group, of any kind,
// bounds it; an all-reduce has the rounds of a reduce-scatter and of an all-gather.
double TracedLinks::latency_of_shortest(const CollectiveCall& call, double bytes) {
  constexpr double much_smaller = 0.1;
  const StepGraph& graph = *in_.replay.graph;
  double own = 0;
  std::size_t calls = 0;
  std::optional<double> least;
  for (const std::uint32_t n :
       in_.replay.movable_of[static_cast<std::size_t>(NodeKind::transfer)]) {
    if (graph.detail[n] == no_row) continue;
    const CollectiveCall& other =
        in_.collectives.matches.ranks[graph.view[n]].calls[graph.detail[n]];
    const auto time = static_cast<double>(in_.replay.measured.duration[n].count());
    if (other.group != call.group || !other.bytes || time <= 0) continue;
    if (other.kind == call.kind && other.bytes->value == call.bytes->value) {
      own += time;
      ++calls;
    } else if (static_cast<double>(other.bytes->value) < much_smaller * bytes) {
      const double one = time * rings_of(call.kind) / rings_of(other.kind);
      least = std::min(least.value_or(one), one);
    }
  }
  if (!least || calls == 0) {
    one_size_ = true;
    return assumed_;
  }
  return std::min(1.0, *least * static_cast<double>(calls) / own);
}

}  // namespace stepscope
