// SPDX-License-Identifier: Apache-2.0
// Where each flag of a verb stands in Python: a parameter of the verb's function, a field of one of
// its option objects, or a method of its result. tools/write_python_verbs.py writes the functions
// and the classes by these tables, and python_wording.h the sentences.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::binding {

// A class of options. Verbs with one of its flags may take an object of it.
struct OptionClass {
  std::string_view name;       // "Plan"
  std::string_view parameter;  // "plan"
  std::string_view what;       // one line of help
  std::string_view flags;  // "filter-time step-annotation"; of Plan also those of a plan's fields
};
[[nodiscard]] std::span<const OptionClass> option_classes();
[[nodiscard]] const OptionClass* option_class(std::string_view name);

// The flags of a class, without dashes.
[[nodiscard]] std::vector<std::string> flags_of(const OptionClass& options);

// The name of a flag as a field of that class, or as a parameter (no class).
[[nodiscard]] std::string field_name(std::string_view options, std::string_view flag);

// A function of the package.
struct VerbParameters {
  std::string_view verb;
  std::string_view flags;       // those that are parameters, in their order
  std::string_view options;     // the classes of its option objects, in their order
  std::string_view left_out{};  // flags that Python does not have; those of files that the command
                                // writes are left out everywhere
};
// Null for a verb that is no function of the package.
[[nodiscard]] const VerbParameters* parameters_of(std::string_view verb);

// How Python calls a flag.
struct PythonFlag {
  std::string_view options;  // "Plan"; empty: a parameter
  std::string name;          // "tp"
  std::string_view method;   // of the result: "to_json()"; then it is no parameter
};
// Null for a flag that Python does not have.
[[nodiscard]] std::optional<PythonFlag> python_flag(std::string_view verb, std::string_view flag);

// The words of a text between its spaces.
[[nodiscard]] std::vector<std::string> words_in(std::string_view text);

}  // namespace stepscope::binding
