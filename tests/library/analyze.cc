// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze TRACES --json -` in ten lines.
#include <cstdio>

#include "stepscope/stepscope.h"

int main(int argc, char** argv) {
  const std::vector<std::string> inputs(argv + 1, argv + argc);
  const auto result = stepscope::analyze({.traces = {.inputs = inputs}});
  if (!result) return std::fprintf(stderr, "%s\n", result.error().message().c_str()), 1;
  std::fputs(stepscope::json_text(stepscope::analyze_tree(result->analysis)).c_str(), stdout);
  return 0;
}
