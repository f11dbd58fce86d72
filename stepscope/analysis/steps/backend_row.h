// SPDX-License-Identifier: Apache-2.0
// Rows of a communication backend ("gloo:all_reduce", "nccl:send 0->1"). On a CPU such a row is a
// collective in flight: it lasts until the collective is done or collected, and does not hold the
// thread that it is on.
#pragma once

#include <string_view>
#include <vector>

#include "stepscope/base/string_pool.h"

namespace stepscope {

[[nodiscard]] bool is_backend_row(std::string_view name);

// Indexed by StringId.
[[nodiscard]] std::vector<bool> backend_row_names(const StringPool& strings);

}  // namespace stepscope
