// SPDX-License-Identifier: Apache-2.0
// `stepscope hang`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace stepscope {

std::function<int()> declare_hang(CLI::App& app);

}  // namespace stepscope
