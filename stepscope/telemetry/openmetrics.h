// SPDX-License-Identifier: Apache-2.0
// A job's account as OpenMetrics text, for Prometheus and whatever reads it: counters since the
// start of the window, so the window should be the whole run's (concat each stretch, fold_steps).
// Times are seconds, as that world has them. docs/reference/telemetry.md lists the families.
#pragma once

#include <string>
#include <vector>

#include "stepscope/telemetry/efficiency.h"
#include "stepscope/telemetry/job_window.h"

namespace stepscope {

// A figure that the window does not hold: a loss, a learning rate.
struct ExtraGauge {
  std::string name{};  // "stepscope_" goes before it; a valid metric name
  std::string unit{};  // may be empty; the name ends in it
  std::string help{};
  double value = 0;
};

struct MetricsContext {
  ReferenceRates references{};
  // The last stretch, with steps kept: the gauges of present rates come from it. Null: from the
  // whole window.
  const JobWindow* recent = nullptr;
  std::vector<ExtraGauge> gauges{};
};

[[nodiscard]] std::string openmetrics(const JobWindow& run, const MetricsContext& context = {});

}  // namespace stepscope
