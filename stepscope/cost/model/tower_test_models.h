// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stepscope/cost/model/tower.h"

namespace stepscope {

// The tower of the Qwen3-VL models.
inline Tower qwen_tower() {
  return {.layers = 27,
          .hidden = 1152,
          .heads = 16,
          .feed_forward = 4304,
          .patch = 16,
          .frames = 2,
          .merge = 2,
          .positions = 2304};
}

}  // namespace stepscope
