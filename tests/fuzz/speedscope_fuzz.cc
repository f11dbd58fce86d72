// SPDX-License-Identifier: Apache-2.0
// Any bytes as speedscope's JSON.
#include "tests/fuzz/profile_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stepscope::fuzz::run(data, size, "speedscope");
  return 0;
}
