// SPDX-License-Identifier: Apache-2.0
// The command line as one call. This header includes nothing of CLI11, so main.cc compiles at once.
#pragma once

namespace stepscope {

// Parses, runs, returns the exit code. Never throws.
[[nodiscard]] int run_command_line(int argc, char** argv);

}  // namespace stepscope
