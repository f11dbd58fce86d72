// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/python_error.h"

#include "stepscope/binding/python_tree.h"
#include "stepscope/binding/python_wording.h"

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

nb::object text_or_none(const std::string& text) {
  return text.empty() ? nb::none() : python_text(text);
}

const char* code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::failed:
      return "failed";
    case ErrorCode::interrupted:
      return "interrupted";
    case ErrorCode::refused:
      return "refused";
    case ErrorCode::group_failed:
      return "group_failed";
    case ErrorCode::other_rank:
      return "other_rank";
    case ErrorCode::reported:
      return "reported";
    case ErrorCode::other_model:
      return "other_model";
  }
  return "failed";
}

}  // namespace

nb::object exception_of(const Error& error, std::string_view verb) {
  const char* kind = error.code == ErrorCode::refused ? "UsageError" : "Error";
  const nb::object byte = error.byte ? nb::object(nb::cast(*error.byte)) : nb::none();
  return nb::module_::import_("stepscope.errors")
      .attr(kind)(python_text(prose_in_python(verb, error.what)), text_or_none(error.file), byte,
                  text_or_none(prose_in_python(verb, error.hint)), code_of(error.code));
}

void raise(const Error& error, std::string_view verb) {
  const nb::object exception = exception_of(error, verb);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace stepscope::binding
