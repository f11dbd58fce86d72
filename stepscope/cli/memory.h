// SPDX-License-Identifier: Apache-2.0
// `stepscope memory`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace stepscope {

std::function<int()> declare_memory(CLI::App& app);

}  // namespace stepscope
