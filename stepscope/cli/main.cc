// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/subcommand.h"

int main(int argc, char** argv) { return stepscope::run_command_line(argc, argv); }
