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

// Bytes that a link carries within the latency of one round, at most: NVLink 5 has 9 MB (900 GB/s
// and 10 us), InfiniBand 1 MB.
constexpr double most_in_flight = 16e6;

double rings_of(CollectiveKind kind) { return kind == CollectiveKind::all_reduce ? 2 : 1; }

}  // namespace

double TracedLinks::factor(const CollectiveCall& call, double members, double n, double bytes) {
  const double latency = latency_share(call, members);
  const double traffic = bytes * ((n - 1) / n) / ((members - 1) / members);
  return latency * rounds(call.kind, n) / rounds(call.kind, members) + (1 - latency) * traffic;
}

double TracedLinks::latency_share(const CollectiveCall& call, double members) {
  if (call.kind == CollectiveKind::barrier) return 1;
  if (!call.bytes || call.bytes->value <= 0) return 0;
  const auto bytes = static_cast<double>(call.bytes->value);
  const MessageCarrier carrier{call.kind, call.group};
  auto known = times_.find(carrier);
  if (known == times_.end())
    known = times_.emplace(carrier, message_times(in_, {carrier}).front()).first;
  if (const auto& fit = known->second.fit) {
    const AlphaBetaPiece* piece = &fit->pieces.front();
    for (const AlphaBetaPiece& p : fit->pieces)
      if (bytes >= p.from) piece = &p;
    const double all = piece->start + piece->slope * bytes;
    const double a_round = piece->start / rounds(call.kind, members);
    if (a_round <= most_in_flight * piece->slope) return all > 0 ? piece->start / all : 0;
  }
  const auto [share, fresh] = shares_.try_emplace({carrier, call.bytes->value}, 0);
  if (fresh) share->second = share_without_sizes(call, bytes);
  return share->second;
}

// No message takes less than its latency. So a much smaller message of the group, of any kind,
// bounds it; an all-reduce has the rounds of a reduce-scatter and of an all-gather.
double TracedLinks::share_without_sizes(const CollectiveCall& call, double bytes) {
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
  if (calls == 0) return 0;
  const double typical = own / static_cast<double>(calls);
  if (least) return std::min(1.0, *least / typical);
  if (unknown_.links != nullptr && *unknown_.links)
    if (const auto latency =
            (*unknown_.links)(in_.collectives.matches, call.kind, call.group, *call.bytes)) {
      by_known_links_ = true;
      return std::min(1.0, unknown_.times * *latency / typical);
    }
  untold_ = true;
  return unknown_.share;
}

}  // namespace stepscope
