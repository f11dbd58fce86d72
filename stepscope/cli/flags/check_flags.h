// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope check`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/pipeline/check.h"

namespace stepscope {

struct CheckFlags {
  CheckRequest request;
  std::string unit = "ms";
  OutputPaths out;
};

void declare(CLI::App& app, CheckFlags& flags);
// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<CheckRequest> check_request(const CheckFlags& flags);

}  // namespace stepscope
