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

// Fitted values replace the machine's own.
void take_over(const LinkTiming& fitted, const std::string& source,
               std::optional<LinkTiming>& timing) {
  const bool any = std::ranges::any_of(fitted.values, [](const auto& v) { return v.has_value(); });
  if (!any) return;
  if (!timing) timing.emplace();
  for (std::size_t p = 0; p < link_parameter_count; ++p)
    if (fitted.values[p]) timing->values[p] = fitted.values[p];
  timing->source = timing->source.empty() ? source : timing->source + "; " + source;
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
  const LinkFit fit = fit_links(*network, explained);
  FittedMachine fitted{.machine = base, .timings = explained.size(), .mean_error = fit.mean_error};
  if (fitted.machine.scale_up) take_over(fit.up, source, fitted.machine.scale_up->timing);
  if (fitted.machine.scale_out) take_over(fit.out, source, fitted.machine.scale_out->timing);
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
    const auto group = placement_of(row, collectives.matches.groups, *network, world_size);
    if (!group) continue;
    timings.push_back(
        {.kind = row.kind, .group = *group, .bytes = *row.bytes, .time = *row.bytes / *row.algbw});
  }
  return fitted_machine(base, timings, source);
}

}  // namespace stepscope
