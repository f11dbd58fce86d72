// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope whatif`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/cli/flags/traces_flags.h"
#include "stepscope/pipeline/whatif.h"

namespace stepscope {

struct WhatIfFlags {
  TracesFlags traces;
  std::vector<std::string> changes;  // as given
  std::string machine;
  std::string json;
  bool list = false;
};

void declare(CLI::App& app, WhatIfFlags& flags);
// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<WhatIfRequest> whatif_request(const WhatIfFlags& flags);

}  // namespace stepscope
