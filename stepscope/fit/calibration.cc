// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/calibration.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

// busbw of the fastest timing: the rate at which one rank sends or receives on full links.
ByteRate fastest(const std::vector<CollectiveTiming>& timings) {
  ByteRate best{};
  for (const CollectiveTiming& t : timings) {
    const auto factor = busbw_factor(t.kind, t.group.size);
    if (!factor || t.time.count() <= 0) continue;
    best = std::max(best, ByteRate{static_cast<double>(t.bytes.value) * *factor / t.time.count()});
  }
  return best;
}

// Takes all resolved numbers of the network, so that none remains from another machine.
LinkTiming whole_timing(const ResolvedTiming& resolved, const std::string& source) {
  LinkTiming timing{.values = {}, .source = source};
  for (std::size_t p = 0; p < link_parameter_count; ++p)
    if (link_parameters[p].up && !std::isnan(resolved[p])) timing.values[p] = resolved[p];
  return timing;
}

Result<double> add_links(const Calibration& measured, const std::string& source, Machine& machine) {
  machine.scale_up = ScaleUp{.name = "shared memory",
                             .per_direction = fastest(measured.collectives),
                             .peer_to_peer = {},
                             .domain = measured.ranks,
                             .topology = Topology::switched,
                             .peers = {},
                             .reduction = {},
                             .timing = {}};
  const auto network = make_network(machine);
  if (!network) return network.error();
  std::vector<CollectiveTiming> timings = measured.collectives;
  for (CollectiveTiming& t : timings) {
    const auto group = place(t.group.size, 1, *network);
    check(group.has_value(), "groups that were measured lie in one domain");
    t.group = *group;
  }
  const LinkFit fit = fit_links(*network, timings);
  machine.scale_up->timing = whole_timing(fit.network.up_timing, source);
  for (const CollectiveTiming& t : timings)
    machine.scale_up->timing->measured_to =
        std::max(machine.scale_up->timing->measured_to.value_or(t.bytes), t.bytes);
  return fit.mean_error;
}

}  // namespace

Result<CalibratedMachine> calibrated_machine(const Calibration& measured) {
  const bool peak =
      std::ranges::any_of(measured.peaks, [](const auto& p) { return p.has_value(); });
  if (!peak || measured.memory_rate.value <= 0)
    return Error{.what = "neither a peak nor the memory's rate of this machine was measured",
                 .hint = "stop other programs and calibrate again"};
  check(!measured.sources.empty(), "a calibration says how it was made");
  CalibratedMachine made;
  Machine& machine = made.machine;
  machine.name = measured.name;
  machine.vendor = measured.vendor;
  machine.peak_rates = measured.peaks;
  machine.matmul_max = measured.matmul_max;
  // The loop may have run while the clock was lower. A peak is no less than any rate that was
  // reached.
  for (std::size_t d = 0; d < dtype_count; ++d)
    if (auto& rate = machine.peak_rates[d]; rate && machine.matmul_max[d])
      rate->value = std::max(rate->value, machine.matmul_max[d]->value);
  machine.memory = Bytes{measured.memory.value / std::max(1, measured.ranks)};
  machine.memory_rate = measured.memory_rate;
  machine.nvme = measured.drive;
  machine.sources = measured.sources;
  ComputeFit fit = fit_core(machine, measured.operations);
  fit.curves.source = measured.sources.front();
  machine.compute = std::move(fit.curves);
  made.compute_error = fit.mean_error;
  if (measured.ranks > 1 && !measured.collectives.empty()) {
    const auto error = add_links(measured, measured.sources.front(), machine);
    if (!error) return error.error();
    made.link_error = *error;
  }
  return made;
}

}  // namespace stepscope
