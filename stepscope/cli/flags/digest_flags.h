// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope digest`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>

#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/pipeline/digest.h"

namespace stepscope {

struct DigestFlags {
  DigestRequest request;
  OutputPaths out;
};

void declare(CLI::App& app, DigestFlags& flags);

}  // namespace stepscope
