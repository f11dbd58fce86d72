// SPDX-License-Identifier: Apache-2.0
// Parts of sentences that many faces share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// "1 step", "3 steps".
[[nodiscard]] std::string counted(std::uint64_t n, std::string_view noun);

// "rank 3", "ranks 0, 1, 3", "9 ranks".
[[nodiscard]] std::string ranks_in_words(const std::vector<int>& ranks);

// What a host thread did (IdleInstance::host_activity) as the end of a sentence that begins with
// "while": "the host is in aten::item", "the host shows no row between a and b".
[[nodiscard]] std::string host_doing(std::string_view activity);

}  // namespace stepscope
