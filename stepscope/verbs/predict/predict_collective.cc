// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stepscope/cost/machine/machine.h"

namespace stepscope {

Result<PredictCollectiveResult> predict_collective(const PredictCollectiveRequest& request) {
  if (request.machine.empty())
    return Error{.what = "the machine is missing",
                 .hint = "give --machine NAME or FILE",
                 .code = ErrorCode::refused};
  const auto machine = machine_named(request.machine);
  if (!machine) return machine.error();
  const auto network = make_network(*machine, {.domain = request.devices_of_a_domain});
  if (!network) return network.error();
  const auto group = place(request.group, 1, *network);
  if (!group)
    return Error{.what = fmt::format("{} devices do not fit the {} of one domain of {}, and no "
                                     "network beyond it is known",
                                     request.group, network->domain, machine->name),
                 .hint = "give a smaller --group, or a machine file with scale_out"};
  auto sweep = sweep_collective(*network, request.kind, *group, request.range);
  if (!sweep) return sweep.error();
  PredictCollectiveResult result{.machine = machine->name,
                                 .sweep = std::move(*sweep),
                                 .warnings = quoted(network->assumptions)};
  const std::vector<SweepPoint>& points = result.sweep.points;
  if (std::ranges::any_of(points, &SweepPoint::beyond))
    result.warnings.insert(
        result.warnings.begin(),
        msg::sizes_beyond_measured(*result.sweep.measured_to,
                                   std::ranges::any_of(points, &SweepPoint::limited)));
  return result;
}

}  // namespace stepscope
