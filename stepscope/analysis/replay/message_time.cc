// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/message_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double smallest_step_of_sizes = 1.5;  // two closer sizes do not determine a line

// A line through the typical times of two sizes.
MessageTime line_through(MessageTime time, const SizedTime& a, const SizedTime& b) {
  const double slope = (b.time - a.time) / (b.size - a.size);
  if (b.size < smallest_step_of_sizes * a.size || slope <= 0) {
    time.refused = msg::sizes_close();
    return time;
  }
  // Negative if the larger message took more than its share of time: all time depends on the bytes
  // then.
  const double start = std::max(0.0, a.time - slope * a.size);
  AlphaBetaPiece piece;
  piece.from = a.size;
  piece.to = b.size;
  piece.start = start;
  piece.slope = start > 0 ? slope : b.time / b.size;
  piece.sizes = 2;
  time.fit = AlphaBetaFit{.pieces = {piece}, .sizes = 2};
  return time;
}

MessageTime fit_sizes(CollectiveKind kind, std::uint32_t group, std::span<const SizedTime> calls) {
  MessageTime time{.kind = kind, .group = group};
  const auto typical = typical_times(calls);
  if (typical.size() == 2) return line_through(std::move(time), typical[0], typical[1]);
  AlphaBetaAnswer answer = fit_alpha_beta(calls);
  time.fit = std::move(answer.fit);
  if (!time.fit)
    time.refused =
        answer.refusal == FitRefusal::no_growth ? msg::time_without_growth() : msg::sizes_alike();
  return time;
}

// The collective that sends the same number of bytes in the same number of steps over the same
// links. No other pair is so similar: the least time of an all-reduce is 0.4 to 3 times theirs,
// depending on the group's size.
CollectiveKind twin_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::reduce_scatter:
      return CollectiveKind::all_gather;
    case CollectiveKind::all_gather:
      return CollectiveKind::reduce_scatter;
    default:
      return CollectiveKind::none;
  }
}

using CarriedSizes = std::map<MessageCarrier, std::vector<SizedTime>>;

// The medians of sizes and times.
SizedTime typical_call(std::span<const SizedTime> calls) {
  std::vector<double> sizes;
  std::vector<double> times;
  for (const SizedTime& call : calls) {
    sizes.push_back(call.size);
    times.push_back(call.time);
  }
  return {.size = *median(std::span<const double>(sizes)),
          .time = *median(std::span<const double>(times))};
}

// Fits lines between powers of two around the measured sizes.
MessageTime fit_model(const WhatIfInputs& in, MessageTime time, std::span<const SizedTime> calls) {
  constexpr std::int64_t around = 1024;
  constexpr std::int64_t least = 64;  // bytes
  if (calls.empty()) return time;
  const auto [smallest, largest] = std::ranges::minmax(calls, {}, &SizedTime::size);
  // The sizes differ, but their measured times did not give a model.
  if (largest.size >= smallest_step_of_sizes * smallest.size) return time;
  time.one_size = typical_call(calls);
  time.refused = msg::links_would_tell(std::move(time.refused));
  if (in.messages == nullptr) return time;
  std::vector<SizedTime> points;
  const auto last = static_cast<std::int64_t>(largest.size) * around;
  for (auto size = std::max(least, static_cast<std::int64_t>(smallest.size) / around); size <= last;
       size *= 2) {
    const auto took = (*in.messages)(in.collectives.matches, time.kind, time.group, Bytes{size});
    if (!took || *took <= 0) return time;
    points.push_back({static_cast<double>(size), *took});
  }
  AlphaBetaFit fit;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const SizedTime& a = points[i - 1];
    const SizedTime& b = points[i];
    AlphaBetaPiece piece;
    piece.from = a.size;
    piece.to = b.size;
    piece.slope = std::max(0.0, (b.time - a.time) / (b.size - a.size));
    piece.start = std::max(0.0, a.time - piece.slope * a.size);
    fit.pieces.push_back(piece);
  }
  fit.sizes = points.size();
  time.note = msg::sizes_by_machine(collective_name(time.kind), about_bytes(smallest.size),
                                    about_bytes(largest.size));
  time.fit = std::move(fit);
  time.refused = {};
  time.one_size.reset();
  return time;
}

MessageTime fit_messages(const WhatIfInputs& in, const MessageCarrier& carrier,
                         const CarriedSizes& sizes) {
  const CollectiveKind kind = carrier.first;
  const std::uint32_t group = carrier.second;
  const auto of = [&](CollectiveKind k) {
    const auto at = sizes.find({k, group});
    return at == sizes.end() ? std::vector<SizedTime>{} : at->second;
  };
  const std::vector<SizedTime> own = of(kind);
  MessageTime time = fit_sizes(kind, group, own);
  const CollectiveKind twin = twin_of(kind);
  std::vector<SizedTime> both = of(twin);
  if (time.fit) return time;
  if (!both.empty()) {
    both.insert(both.end(), own.begin(), own.end());
    MessageTime of_both = fit_sizes(kind, group, both);
    of_both.note = msg::sizes_by_twin(collective_name(kind), collective_name(twin));
    if (of_both.fit) return of_both;
    time.refused = msg::nor_with_twin(std::move(time.refused), collective_name(twin));
  }
  return fit_model(in, std::move(time), own);
}

// The time of each of these joined collectives: the median over its ranks.
CarriedSizes carried_sizes(const WhatIfInputs& in, const std::set<MessageCarrier>& wanted) {
  const StepGraph& graph = *in.replay.graph;
  struct Instance {
    MessageCarrier carrier;
    std::int64_t bytes = 0;
    std::vector<double> times;  // of its members
  };
  std::vector<Instance> instances;
  std::vector<std::uint32_t> place(in.collectives.matches.matched.size(), no_row);
  std::vector<std::vector<std::uint32_t>> instance_of(in.views.size());
  for (std::size_t v = 0; v < in.views.size(); ++v)
    instance_of[v].assign(in.collectives.matches.ranks[v].calls.size(), no_row);
  const auto& matched = in.collectives.matches.matched;
  for (std::uint32_t i = 0; i < matched.size(); ++i)
    if (!matched[i].message)
      for (const CollectiveMember m : in.collectives.matches.members_of(matched[i]))
        instance_of[m.view][m.call] = i;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    if (graph.kind[n] != NodeKind::transfer) continue;
    const std::uint32_t v = graph.view[n];
    const std::uint32_t row = graph.detail[n];
    const CollectiveCall& call = in.collectives.matches.ranks[v].calls[row];
    const MessageCarrier carrier{call.kind, call.group};
    if (!call.bytes || instance_of[v][row] == no_row || !wanted.contains(carrier)) continue;
    std::uint32_t& at = place[instance_of[v][row]];
    if (at == no_row) {
      at = static_cast<std::uint32_t>(instances.size());
      instances.push_back({.carrier = carrier, .bytes = 0, .times = {}});
    }
    Instance& instance = instances[at];
    instance.bytes = std::max(instance.bytes, call.bytes->value);
    instance.times.push_back(static_cast<double>(graph.graph.duration[n].count()));
  }
  CarriedSizes sizes;
  for (const std::uint32_t at : place) {
    if (at == no_row) continue;
    const Instance& i = instances[at];
    sizes[i.carrier].push_back(
        {static_cast<double>(i.bytes), *median(std::span<const double>(i.times))});
  }
  return sizes;
}

}  // namespace

// "1.23 MB", for sentences.
std::string about_bytes(double bytes) {
  constexpr std::array<const char*, 4> units = {"B", "KB", "MB", "GB"};
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && bytes >= 1000; ++unit) bytes /= 1000;
  std::array<char, 32> room{};
  const int length = std::snprintf(room.data(), room.size(), "%.3g %s", bytes, units[unit]);
  return {room.data(), static_cast<std::size_t>(std::max(0, length))};
}

std::string_view collective_name(CollectiveKind kind) {
  return collective_kind_names[static_cast<std::size_t>(kind)];
}

MessageTime bound_through(MessageTime time, bool longest) {
  constexpr double around = 1 << 20;
  const SizedTime& one = *time.one_size;
  AlphaBetaPiece latency;
  latency.from = one.size / around;
  latency.to = one.size;
  latency.start = one.time;
  AlphaBetaPiece bytes;
  bytes.from = one.size;
  bytes.to = one.size * around;
  bytes.slope = one.time / one.size;
  if (!longest) {
    std::swap(latency.start, bytes.start);
    std::swap(latency.slope, bytes.slope);
  }
  time.fit = AlphaBetaFit{.pieces = {latency, bytes}, .sizes = 1};
  time.note = msg::size_gives_bounds(collective_name(time.kind), about_bytes(one.size));
  return time;
}

std::optional<double> MessageTime::at(double bytes) const {
  return fit ? predicted_time(*fit, bytes) : std::nullopt;
}

std::vector<MessageTime> message_times(const WhatIfInputs& in,
                                       const std::set<MessageCarrier>& carriers) {
  if (carriers.empty()) return {};
  std::set<MessageCarrier> wanted = carriers;
  for (const auto& [kind, group] : carriers) wanted.emplace(twin_of(kind), group);
  const CarriedSizes sizes = carried_sizes(in, wanted);
  std::vector<MessageTime> times;
  for (const MessageCarrier& carrier : carriers) times.push_back(fit_messages(in, carrier, sizes));
  return times;
}

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
