// SPDX-License-Identifier: Apache-2.0
// The words of the command line as those of Python: "--steps 3:5" as "steps='3:5'", "--tp N" as
// "Plan(tp=N)", "stepscope whatif TRACES --change X" as "stepscope.whatif(TRACES, change=X)". Flags
// and verbs that the package does not have stay as they are: they are of a shell.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/say/wording.h"

namespace stepscope::binding {

// A sentence of an answer or error of `verb`.
[[nodiscard]] std::string prose_in_python(std::string_view verb, std::string_view text);
// A whole command line, quoted for a shell.
[[nodiscard]] std::string command_in_python(std::string_view line);

// Both of them, for what an answer of `verb` says.
[[nodiscard]] Wording python_wording(std::string verb);

}  // namespace stepscope::binding
