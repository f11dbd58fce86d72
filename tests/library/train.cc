// SPDX-License-Identifier: Apache-2.0
// `stepscope train --ranks 2 --json -` in ten lines. Both ranks are copies of this program.
#include <cstdio>

#include "engine/stepscope_engine.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto result = stepscope::train(
      {.data = {argv[1]}, .ranks = 2, .transport = "shm", .batch = 1, .sequence = 16, .steps = 3});
  if (!result) return std::fprintf(stderr, "%s\n", result.error().message().c_str()), 1;
  if (result->has_results)
    std::fputs(stepscope::json_text(stepscope::train_tree(*result)).c_str(), stdout);
  return 0;
}
