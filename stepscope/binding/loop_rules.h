// SPDX-License-Identifier: Apache-2.0
// The rules by which python/stepscope/loop judges a running job.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope::binding {

// LateRule (stats/lateness/late_rule.h) and stands_out (stats/lateness/excess.h).
void bind_loop_rules(nanobind::module_& module);

}  // namespace stepscope::binding
