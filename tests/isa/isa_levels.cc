// SPDX-License-Identifier: Apache-2.0
// Prints the levels that STEPSCOPE_ISA can choose on this machine, lowest first.
#include <cstdio>
#include <string>

#include "stepscope/base/isa.h"

int main() {
  for (const stepscope::Isa isa : stepscope::available_isas()) {
    std::puts(std::string(stepscope::isa_name(isa)).c_str());
  }
  return 0;
}
