// SPDX-License-Identifier: Apache-2.0
// A number of operations is not a number of bytes, even if a function would take either as a
// double.
#include "stepscope/base/quantity.h"

stepscope::Seconds time_to_move(stepscope::Bytes size, stepscope::ByteRate rate) {
  return size / rate;
}

stepscope::Seconds time_of(stepscope::Flops flops, stepscope::Bytes size) {
#ifdef MISUSE
  return time_to_move(flops, stepscope::ByteRate{1e9});
#else
  return time_to_move(size, stepscope::ByteRate{1e9}) + flops / stepscope::FlopRate{1e12};
#endif
}
