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
// "rank 3", "ranks 0, 4 and 8", "ranks 0, 2, 4 … 30 (16 in all)".
[[nodiscard]] std::string listed_ranks(const std::vector<int>& ranks);

// "Rank 3 waits" of "rank 3 waits".
[[nodiscard]] std::string capitalised(std::string text);
// "rank balance" of "rank_balance".
[[nodiscard]] std::string spaced(std::string name);

// Shapes as PyTorch writes them, "[[8, 4], [], []]", without spaces and without scalars, which have
// no shape: "[[8,4]]".
[[nodiscard]] std::string shape_in_words(std::string_view dims);
// Without the brackets around all.
[[nodiscard]] std::string outer_shape_in_words(std::string_view dims);

// What a host thread did (IdleInstance::host_activity) as the end of a sentence that begins with
// "while": "the host is in aten::item", "the host shows no row between a and b".
[[nodiscard]] std::string host_doing(std::string_view activity);

}  // namespace stepscope
