// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/flag_tables.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "stepscope/cli/subcommand.h"
#include "stepscope/face/help/flag_view.h"

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

nb::dict row_of(const FlagView& flag, const std::string& group) {
  nb::dict row;
  row["name"] = flag.name.starts_with("--") ? flag.name.substr(2) : flag.name;
  row["value"] = flag.value;
  row["what"] = flag.what;
  row["preset"] = flag.preset;
  row["argument"] = flag.argument;
  row["required"] = flag.required;
  row["repeatable"] = flag.repeatable;
  row["choices"] = flag.choices;
  row["group"] = group;
  return row;
}

nb::dict flags_in(const std::string& verb) {
  const CommandLine line = declare_command_line(100);
  const CLI::App* app = find_verb(*line.app, verb);
  if (app == nullptr) throw nb::key_error(verb.c_str());
  nb::dict out;
  nb::list rows;
  for (const FlagGroup& group : flag_groups(*app))
    for (const FlagView& flag : group.flags) rows.append(row_of(flag, group.name));
  out["description"] = app->get_description();
  out["flags"] = rows;
  return out;
}

}  // namespace

void bind_flag_tables(nb::module_& module) { module.def("flags", flags_in, nb::arg("verb")); }

}  // namespace stepscope::binding
