// SPDX-License-Identifier: Apache-2.0
// Ranks from the names of files and their directories, where the files themselves do not say them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stepscope {

// For each path its rank, or all nullopt when the names do not tell. A number counts if all names
// carry one in the same place and the numbers are below `world_size`, or are exactly 0 … n−1, or
// stand behind the word "rank" and differ. Where the files' names do not tell, the same is asked of
// the innermost directories that differ: "rank_0/trace.json", "worker1/today/trace.json".
[[nodiscard]] std::vector<std::optional<int>> ranks_from_names(std::span<const std::string> paths,
                                                               std::optional<int> world_size);

}  // namespace stepscope
