// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope memory`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/pipeline/memory.h"

namespace stepscope {

struct MemoryFlags {
  MemoryRequest request;
  std::size_t top = 10;
  OutputPaths out;
};

void declare(CLI::App& app, MemoryFlags& flags);

}  // namespace stepscope
