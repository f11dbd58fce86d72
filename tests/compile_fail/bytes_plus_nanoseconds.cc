// SPDX-License-Identifier: Apache-2.0
// A size and a time cannot be added.
#include "stepscope/base/quantity.h"

auto sum(stepscope::Bytes size, stepscope::Ns time) {
#ifdef MISUSE
  return size + time;
#else
  return stepscope::seconds(time) + size / stepscope::ByteRate{1e9};
#endif
}
