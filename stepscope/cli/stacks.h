// SPDX-License-Identifier: Apache-2.0
// `stepscope stacks`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace stepscope {

std::function<int()> declare_stacks(CLI::App& app);

}  // namespace stepscope
