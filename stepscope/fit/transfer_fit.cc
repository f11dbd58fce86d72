// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/transfer_fit.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "stepscope/fit/expected_collectives.h"

namespace stepscope {
namespace {

using Key = std::tuple<CollectiveKind, int, HostPlacement>;

std::vector<TransferFit> fit_each(const std::map<Key, std::vector<SizedTime>>& calls) {
  std::vector<TransferFit> fits;
  for (const auto& [key, times] : calls) {
    const auto& [kind, group_size, placement] = key;
    fits.push_back({.kind = kind,
                    .group_size = group_size,
                    .placement = placement,
                    .answer = fit_alpha_beta(times),
                    .typical = typical_times(times)});
  }
  return fits;
}

// The largest collective within domains, or across them.
std::optional<Bytes> largest_size(std::span<const CollectiveTiming> timings, bool across) {
  std::optional<Bytes> most;
  for (const CollectiveTiming& t : timings)
    if ((t.group.domains > 1) == across) most = std::max(most.value_or(t.bytes), t.bytes);
  return most;
}

// Fitted values replace the machine's own.
void take_over(const LinkTiming& fitted, const std::string& source,
               std::optional<Bytes> measured_to, std::optional<LinkTiming>& timing) {
  const bool any = std::ranges::any_of(fitted.values, [](const auto& v) { return v.has_value(); });
  if (!any) return;
  if (!timing) timing.emplace();
  for (std::size_t p = 0; p < link_parameter_count; ++p)
    if (fitted.values[p]) timing->values[p] = fitted.values[p];
  timing->source = timing->source.empty() ? source : timing->source + "; " + source;
  timing->measured_to = measured_to;
}

// The best of modelled / measured time over the largest transfers of each kind and group whose size
// and not latency decides their time; 1 without any.
double reached_share(const Network& network, std::span<const CollectiveTiming> timings,
                     bool across) {
  constexpr double by_size = 3;  // times the latency
  std::map<std::tuple<CollectiveKind, int, int>, const CollectiveTiming*> largest;
  for (const CollectiveTiming& t : timings) {
    if ((t.group.domains > 1) != across) continue;
    const CollectiveTiming*& most = largest[{t.kind, t.group.size, t.group.domains}];
    if (most == nullptr || t.bytes > most->bytes) most = &t;
  }
  double best = 0;
  for (const auto& [key, t] : largest) {
    CollectiveTiming empty = *t;
    empty.bytes = Bytes{1};
    const auto modelled = modelled_time(network, *t);
    const auto latency = modelled_time(network, empty);
    if (modelled && latency && *modelled > by_size * *latency)
      best = std::max(best, modelled->count() / t->time.count());
  }
  return best > 0 ? best : 1;
}

void scale(std::optional<ByteRate>& rate, double by) {
  if (rate) rate->value *= by;
}

// Links that reach less than half of their rated bandwidth at best are other links (peer-to-peer
// transfers off, a slower network). The machine gets the rate that they reach: efficiencies alone
// cannot explain it, and a search over latencies would fit the measured sizes and no others.
void take_reached_rates(const Network& network, std::span<const CollectiveTiming> timings,
                        FittedMachine& fitted) {
  Machine& machine = fitted.machine;
  constexpr double other_links = 0.5;
  const double inside = reached_share(network, timings, false);
  if (machine.scale_up && inside < other_links) {
    fitted.reached_inside = inside;
    scale(machine.scale_up->per_direction, inside);
    scale(machine.scale_up->peer_to_peer, inside);
    for (ByteRate& peer : machine.scale_up->peers) peer.value *= inside;
  }
  const double across = reached_share(network, timings, true);
  if (machine.scale_out && across < other_links) {
    fitted.reached_across = across;
    scale(machine.scale_out->per_direction, across);
  }
}

}  // namespace

std::vector<TransferFit> fit_transfers(std::span<const Transfer> transfers) {
  std::map<Key, std::vector<SizedTime>> calls;
  for (const Transfer& t : transfers)
    calls[{t.kind, t.group_size, t.placement}].push_back(
        {static_cast<double>(t.bytes.value), seconds(t.time).count()});
  return fit_each(calls);
}

std::vector<TransferFit> fit_transfers(std::span<const CollectiveTiming> timings) {
  std::map<Key, std::vector<SizedTime>> calls;
  for (const CollectiveTiming& t : timings) {
    const auto placement =
        t.group.domains > 1 ? HostPlacement::several_hosts : HostPlacement::one_host;
    calls[{t.kind, t.group.size, placement}].push_back(
        {static_cast<double>(t.bytes.value), t.time.count()});
  }
  return fit_each(calls);
}

std::optional<Seconds> predicted_time(const TransferFit& fit, Bytes size) {
  if (!fit.answer.fit) return std::nullopt;
  const auto time = predicted_time(*fit.answer.fit, static_cast<double>(size.value));
  return time ? std::optional(Seconds{*time}) : std::nullopt;
}

std::optional<double> gb_per_second(double slope) {
  return slope > 0 ? std::optional(1e-9 / slope) : std::nullopt;
}

std::string refusal_text(const AlphaBetaAnswer& answer) {
  switch (answer.refusal) {
    case FitRefusal::none:
      return {};
    case FitRefusal::no_call:
      return "no call with a size and a transfer time";
    case FitRefusal::one_call:
      return "one call tells no line";
    case FitRefusal::too_few_sizes:
      return std::to_string(answer.sizes) + " of at least " + std::to_string(least_sizes_of_piece) +
             " different sizes";
    case FitRefusal::no_growth:
      return "the time does not grow with the size";
  }
  return {};
}

Result<FittedMachine> fitted_machine(const Machine& base, std::span<const CollectiveTiming> timings,
                                     const std::string& source) {
  const auto network = make_network(base);
  if (!network) return network.error();
  std::vector<CollectiveTiming> explained;
  for (const CollectiveTiming& t : timings)
    if (t.bytes.value > 0 && modelled_time(*network, t)) explained.push_back(t);
  if (explained.empty())
    return Error{.what = "no collective whose transfer time, size and place on the links are known",
                 .hint =
                     "give the traces of all ranks, recorded with record_shapes=True by a "
                     "PyTorch that writes process groups, or the output of a benchmark"};
  FittedMachine fitted{.machine = base, .timings = explained.size()};
  take_reached_rates(*network, explained, fitted);
  const auto reached = make_network(fitted.machine);
  if (!reached) return reached.error();
  for (CollectiveTiming& t : explained) {  // a placement holds the rates of its links
    t.group.within.value *= fitted.reached_inside;
    t.group.across.value *= fitted.reached_across;
  }
  const LinkFit fit = fit_links(*reached, explained);
  fitted.mean_error = fit.mean_error;
  if (fitted.machine.scale_up)
    take_over(fit.up, source, largest_size(explained, false), fitted.machine.scale_up->timing);
  if (fitted.machine.scale_out)
    take_over(fit.out, source, largest_size(explained, true), fitted.machine.scale_out->timing);
  fitted.machine.sources.push_back(source);
  return fitted;
}

Result<FittedMachine> fitted_machine(const Machine& base, const Collectives& collectives,
                                     std::optional<int> world_size, const std::string& source) {
  const auto network = make_network(base);
  if (!network) return network.error();
  std::vector<CollectiveTiming> timings;
  for (const CollectiveRow& row : collectives.rows) {
    if (!row.algbw || !row.bytes || row.bytes->value <= 0) continue;
    const auto placed = placement_of(row, collectives.matches, *network, world_size);
    if (!placed) continue;
    timings.push_back({.kind = row.kind,
                       .group = placed->group,
                       .bytes = *row.bytes,
                       .time = *row.bytes / *row.algbw});
  }
  return fitted_machine(base, timings, source);
}

}  // namespace stepscope
