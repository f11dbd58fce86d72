// SPDX-License-Identifier: Apache-2.0
// The verbs for Python. The arguments of each are those of the command, "--steps=3:5" and the like,
// then "--" and the inputs; python/stepscope/verbs.py makes them from keywords. Each raises
// UsageError where an argument is wrong and Error where nothing can be answered.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "stepscope/face/help/answer.h"

namespace stepscope::binding {

// The answer of a verb, as Python holds it.
struct VerbAnswer {
  std::string verb;
  Answer answer;
};

void bind_verbs(nanobind::module_& module);

}  // namespace stepscope::binding
