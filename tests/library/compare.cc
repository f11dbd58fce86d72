// SPDX-License-Identifier: Apache-2.0
// `stepscope compare A B --json -` in ten lines.
#include <cstdio>

#include "stepscope/stepscope.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto result = stepscope::compare({.a = {argv[1]}, .b = {argv[2]}});
  if (!result) return std::fprintf(stderr, "%s\n", result.error().message().c_str()), 1;
  std::fputs(stepscope::json_text(stepscope::compare_tree(*result)).c_str(), stdout);
  return 0;
}
