// SPDX-License-Identifier: Apache-2.0
// Any bytes as a printed call tree.
#include "tests/fuzz/profile_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stepscope::fuzz::run(data, size, "counted_tree");
  return 0;
}
