// SPDX-License-Identifier: Apache-2.0
// What Horovod writes of operations that not all ranks have submitted (stall_inspector.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

struct StalledRank {
  int rank = 0;             // that others wait for
  std::string operation{};  // the first that it has not submitted
};

// Early versions write "HorovodBroadcast_w_0 [missing ranks: 0, 2]", later ones a line "Missing
// ranks:" and one line a rank behind it: "1: [op, op]". `text` has no prefix of a launcher.
[[nodiscard]] std::vector<StalledRank> horovod_stall(std::string_view text,
                                                     std::string_view behind);

}  // namespace stepscope
