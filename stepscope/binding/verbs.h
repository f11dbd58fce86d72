// SPDX-License-Identifier: Apache-2.0
// The verbs for Python. The arguments of each are those of the command, "--steps=3:5" and the like,
// then "--" and the inputs; python/stepscope/verbs.py makes them from keywords. Each raises
// UsageError where an argument is wrong and Error where nothing can be answered.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope::binding {

void bind_verbs(nanobind::module_& module);

}  // namespace stepscope::binding
