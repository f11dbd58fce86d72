// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/freed_memory.h"
#include "stepscope/cli/command_line.h"

int main(int argc, char** argv) {
  stepscope::keep_freed_memory();
  return stepscope::run_command_line(argc, argv);
}
