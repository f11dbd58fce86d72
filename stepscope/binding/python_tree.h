// SPDX-License-Identifier: Apache-2.0
// A tree of report/json as Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include "stepscope/face/tree/json_values.h"

namespace stepscope::binding {

// dict, list, str, int, float, bool and None, as json.loads() makes them of json_text(tree): a
// number that is not finite is None, and bytes that are not UTF-8 are U+FFFD. The caller has the
// GIL.
[[nodiscard]] nanobind::object python_of(const Json& tree);

// The text as Python's str; bytes that are no UTF-8 are U+FFFD, as in the JSON.
[[nodiscard]] nanobind::object python_text(const std::string& text);

}  // namespace stepscope::binding
