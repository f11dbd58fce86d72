// SPDX-License-Identifier: Apache-2.0
// A job's window as OpenMetrics text, for Prometheus and other readers. Counters run since the
// start of the window, so the window should cover the whole run (concat each stretch, fold_steps).
// Times are in seconds, the OpenMetrics base unit. Families: docs/reference/telemetry.md.
#pragma once

#include <string>
#include <vector>

#include "engine/telemetry/efficiency.h"
#include "engine/telemetry/job_window.h"

namespace stepscope {

// A figure that is not in the window: a loss, a learning rate.
struct ExtraGauge {
  std::string name{};  // a valid metric name; "stepscope_" is prepended
  std::string unit{};  // may be empty; otherwise the name ends in it
  std::string help{};
  double value = 0;
};

struct MetricsContext {
  ReferenceRates references{};
  // The last stretch, with steps kept. The gauges of current rates come from it. Null: from the
  // whole window.
  const JobWindow* recent = nullptr;
  std::vector<ExtraGauge> gauges{};
};

[[nodiscard]] std::string openmetrics(const JobWindow& run, const MetricsContext& context = {});

}  // namespace stepscope
