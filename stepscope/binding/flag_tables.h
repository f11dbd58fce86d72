// SPDX-License-Identifier: Apache-2.0
// The flags of the verbs as data, from which python/stepscope/verbs.py and options.py are written.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope::binding {

// flags(verb): {description, flags}, the latter one dict a flag in the order of help: name
// ("steps"), value ("A:B"; empty: a switch), what, preset, argument, required, repeatable, choices,
// group, parameter (its name in Python, or None) and options (the class of options that has it, or
// empty); order and options: the parameters and classes of the verb's function, in their order.
// option_classes(): {class: {parameter, what, fields: {flag: field}}}.
void bind_flag_tables(nanobind::module_& module);

}  // namespace stepscope::binding
