// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stepscope/base/quantity.h"

namespace stepscope {

// A part [from, until) of a capture, counted from its start.
struct TimeWindow {
  Ns from{0};
  Ns until = Ns::max();
};

}  // namespace stepscope
