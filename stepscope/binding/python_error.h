// SPDX-License-Identifier: Apache-2.0
// Errors of the library as exceptions of the Python package (python/stepscope/errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "stepscope/base/result.h"

namespace stepscope::binding {

// An exception object with the error's text, file, byte, remedy and code; a UsageError where the
// request is wrong. Text and remedy have the words of Python for flags of `verb`. The caller has
// the GIL.
[[nodiscard]] nanobind::object exception_of(const Error& error, std::string_view verb);

// Raises it.
[[noreturn]] void raise(const Error& error, std::string_view verb);

}  // namespace stepscope::binding
