// SPDX-License-Identifier: Apache-2.0
// Finds ranks in the names of files and their directories, for files without a rank inside.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stepscope {

// The rank of each path, or all nullopt if the names give none. A number counts if all names have
// one in the same place and the numbers are below `world_size`, or are exactly 0 … n−1, or follow
// the word "rank" and differ. If file names give none, the innermost directories that differ are
// used: "rank_0/trace.json", "worker1/today/trace.json".
[[nodiscard]] std::vector<std::optional<int>> ranks_from_names(std::span<const std::string> paths,
                                                               std::optional<int> world_size);

}  // namespace stepscope
