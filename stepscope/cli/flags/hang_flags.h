// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope hang`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/pipeline/hang.h"

namespace stepscope {

struct HangFlags {
  HangRequest request;
  OutputPaths out;
};

void declare(CLI::App& app, HangFlags& flags);

}  // namespace stepscope
