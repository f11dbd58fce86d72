// SPDX-License-Identifier: Apache-2.0
// The flags of the verbs as data, from which python/stepscope/verbs.py is written.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope::binding {

// flags(verb): {description, flags}, the latter one dict a flag in the order of help: name
// ("steps"), value ("A:B"; empty: a switch), what, preset, argument, required, repeatable, choices,
// group.
void bind_flag_tables(nanobind::module_& module);

}  // namespace stepscope::binding
