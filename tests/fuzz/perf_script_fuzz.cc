// SPDX-License-Identifier: Apache-2.0
// Any bytes as perf script.
#include "tests/fuzz/profile_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stepscope::fuzz::run(data, size, "perf_script");
  return 0;
}
