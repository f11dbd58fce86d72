// SPDX-License-Identifier: Apache-2.0
// Uses the installed library.
#include <cstdio>

#include "stepscope/base/string_pool.h"

int main() {
  stepscope::StringPool strings;
  const auto id = strings.intern("ncclDevKernel_AllGather_RING_LL");
  if (strings[id].size() != 31 || strings.find("absent") != stepscope::empty_string) return 1;
  std::printf("%zu strings\n", strings.size());
}
