// SPDX-License-Identifier: Apache-2.0
// Slips of the hand in a command line that a parser takes for something else: dashes and quotes of
// a web page, FLAG=VALUE without dashes, a verb's help as an input.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace stepscope {

// What is wrong with the words that `verb` was given, with the remedy, in one line; empty: nothing.
// Words that name files are what they are.
[[nodiscard]] std::string slip_in(const CLI::App& verb);

}  // namespace stepscope
