// SPDX-License-Identifier: Apache-2.0
// Errors of the library as exceptions of the Python package (python/stepscope/errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include "stepscope/base/result.h"

namespace stepscope::binding {

// An exception object with the error's text, file, byte and remedy; a UsageError where the request
// is wrong. The caller has the GIL.
[[nodiscard]] nanobind::object exception_of(const Error& error);

// Raises it.
[[noreturn]] void raise(const Error& error);

}  // namespace stepscope::binding
