// SPDX-License-Identifier: Apache-2.0
// `stepscope predict gpt2 --machine h100_sxm_80gb --gpus 8 --global-batch 64 --zero 2 --json -` in
// ten lines.
#include <cstdio>

#include "stepscope/stepscope.h"

int main() {
  const auto result =
      stepscope::predict({.model = "gpt2",
                          .machine = "h100_sxm_80gb",
                          .plan = {.gpus = 8, .fields = {{"global-batch", "64"}, {"zero", "2"}}}});
  if (!result) return std::fprintf(stderr, "%s\n", result.error().message().c_str()), 1;
  std::fputs(stepscope::json_text(stepscope::predict_tree(*result)).c_str(), stdout);
  return 0;
}
