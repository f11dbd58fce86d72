// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/roofline.h"

#include <algorithm>

#include "stepscope/fit/mfu_rank.h"

namespace stepscope {

RooflinePlace place_on_roofline(const RooflineWork& work, const Machine& machine,
                                std::optional<FlopRate> peak_override) {
  RooflinePlace place;
  if (work.time <= Ns{0}) return place;
  const double time = seconds(work.time).count();
  auto top = peak_override;
  if (!top && work.dtype) top = peak(machine, *work.dtype);
  std::optional<double> at_peak;  // seconds
  std::optional<double> at_bandwidth;
  if (work.flops && top) at_peak = (*work.flops / *top).count();
  if (work.bytes && machine.memory_rate)
    at_bandwidth = (*work.bytes / *machine.memory_rate).count();
  if (at_peak) place.peak_share = *at_peak / time;
  if (at_bandwidth) place.bandwidth_share = *at_bandwidth / time;
  if (work.flops && work.bytes && work.bytes->value > 0) {
    place.intensity = work.flops->value / static_cast<double>(work.bytes->value);
  }
  if (top && machine.memory_rate) place.ridge = top->value / machine.memory_rate->value;
  // Work that computes almost nothing is bound by memory, whatever the peak is.
  const bool only_moves = work.streams || (work.flops && work.flops->value == 0);
  if (at_bandwidth && (at_peak || only_moves)) {
    place.bound = at_peak.value_or(0) > *at_bandwidth ? Bound::compute : Bound::memory;
    place.roof_share = std::max(at_peak.value_or(0), *at_bandwidth) / time;
  }
  return place;
}

RooflineWork roofline_work(const OperatorRow& row) {
  RooflineWork work{.flops = row.flops,
                    .bytes = row.over_host ? std::nullopt : row.bytes,
                    .dtype = dtype_of(row.precision),
                    .streams = false,
                    .time = row.device};
  switch (row.kind) {
    case NameClass::norm:
    case NameClass::softmax:
    case NameClass::elementwise:
    case NameClass::reduction:
    case NameClass::quantize:
    case NameClass::optimizer:
    case NameClass::embedding:
    case NameClass::loss:
    case NameClass::copy:
      work.streams = !row.flops;
      break;
    case NameClass::matmul:
    case NameClass::attention:
    case NameClass::routing:
    case NameClass::communication:
    case NameClass::wait:
    case NameClass::other:
      break;
  }
  return work;
}

}  // namespace stepscope
