// SPDX-License-Identifier: Apache-2.0
// OptimizerShard (engine/zero/plan/shard.h) and Zero3PerformanceStats
// (engine/telemetry/zero3_performance_stats.h) as classes of Python. Builds without the engine lack
// them.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope::binding {

void bind_optimizer_shard(nanobind::module_& module);
// Durations are seconds. What is refused is a UsageError.
void bind_zero3_stats(nanobind::module_& module);

}  // namespace stepscope::binding
