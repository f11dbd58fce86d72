// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/flag_tables.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "stepscope/binding/parameters.h"
#include "stepscope/binding/python_wording.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/face/help/flag_view.h"

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

nb::dict row_of(const std::string& verb, const FlagView& flag, const std::string& group) {
  nb::dict row;
  row["name"] = flag.name.starts_with("--") ? flag.name.substr(2) : flag.name;
  row["value"] = flag.value;
  row["what"] = prose_in_python(verb, flag.what);
  row["preset"] = flag.preset;
  row["argument"] = flag.argument;
  row["required"] = flag.required;
  row["repeatable"] = flag.repeatable;
  row["choices"] = flag.choices;
  row["group"] = group;
  const std::optional<PythonFlag> python =
      flag.argument ? std::nullopt : python_flag(verb, flag.name.substr(2));
  row["parameter"] =
      python && python->method.empty() ? nb::object(nb::cast(python->name)) : nb::none();
  row["options"] = python ? std::string(python->options) : std::string();
  return row;
}

nb::dict flags_in(const std::string& verb) {
  const CommandLine line = declare_command_line(100);
  const CLI::App* app = find_verb(*line.app, verb);
  if (app == nullptr) throw nb::key_error(verb.c_str());
  nb::dict out;
  nb::list rows;
  for (const FlagGroup& group : flag_groups(*app))
    for (const FlagView& flag : group.flags) rows.append(row_of(verb, flag, group.name));
  out["description"] = prose_in_python(verb, app->get_description());
  out["flags"] = rows;
  if (const VerbParameters* function = parameters_of(verb); function != nullptr) {
    out["order"] = words_in(function->flags);
    out["options"] = words_in(function->options);
  }
  return out;
}

nb::dict classes_in_python() {
  nb::dict out;
  for (const OptionClass& options : option_classes()) {
    nb::dict fields;
    for (const std::string& flag : flags_of(options))
      fields[nb::str(flag.c_str())] = field_name(options.name, flag);
    nb::dict row;
    row["parameter"] = std::string(options.parameter);
    row["what"] = std::string(options.what);
    row["fields"] = fields;
    out[nb::str(std::string(options.name).c_str())] = row;
  }
  return out;
}

}  // namespace

void bind_flag_tables(nb::module_& module) {
  module.def("flags", flags_in, nb::arg("verb"));
  module.def("option_classes", classes_in_python);
}

}  // namespace stepscope::binding
