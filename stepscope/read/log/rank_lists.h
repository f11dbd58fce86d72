// SPDX-License-Identifier: Apache-2.0
// The step times of every rank at once, as a health check of a few steps gathers and prints them:
//   [[100.1, 100.3], [100.2, 99.9]]               one list a rank, from rank 0 on
//   {"rank0": [100.1, 100.3], "rank1": […]}       lists by rank
//   Rank 0: avg=99.7ms, times=['100.7', '98.7']   one line a rank, in the unit of the mean, also
//                                                 behind the prefix of a launcher or a logger
// and [100.1, 100.3], which is one list without ranks.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

struct RankList {
  std::optional<int> rank{};
  std::optional<TimeUnit> unit{};  // absent: the text does not say
  std::vector<double> times{};     // by step; NaN where JSON has another value
};

// The rank of "rank0", "rank_0", "Rank 0" and of these with a unit behind ("rank0_ms").
struct RankName {
  int rank = 0;
  std::optional<TimeUnit> unit{};
};
[[nodiscard]] std::optional<RankName> rank_name(std::string_view name);

// Whether such lists begin here. `head`: the beginning of a file, behind its blanks.
[[nodiscard]] bool begins_rank_lists(std::string_view head);

// Whether they begin as JSON.
[[nodiscard]] bool begins_json_lists(std::string_view head);

// Errors: JSON that does not parse, or has other values than lists of numbers, or more than 2
// million of them.
[[nodiscard]] Result<std::vector<RankList>> read_json_lists(ByteSource& source,
                                                            std::string_view path);
[[nodiscard]] std::vector<RankList> printed_lists(std::string_view text);

}  // namespace stepscope
