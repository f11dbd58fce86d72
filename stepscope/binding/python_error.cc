// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/python_error.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

nb::object text_or_none(const std::string& text) {
  return text.empty() ? nb::none() : nb::object(nb::cast(text));
}

}  // namespace

nb::object exception_of(const Error& error) {
  const char* kind = error.code == ErrorCode::refused ? "UsageError" : "Error";
  const nb::object byte = error.byte ? nb::object(nb::cast(*error.byte)) : nb::none();
  return nb::module_::import_("stepscope.errors")
      .attr(kind)(error.what, text_or_none(error.file), byte, text_or_none(error.hint));
}

void raise(const Error& error) {
  const nb::object exception = exception_of(error);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace stepscope::binding
