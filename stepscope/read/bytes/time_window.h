// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stepscope/base/quantity.h"

namespace stepscope {

// Of a capture, counted from its start: [from, until).
struct TimeWindow {
  Ns from{0};
  Ns until = Ns::max();
};

}  // namespace stepscope
