// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope live`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/pipeline/live.h"

namespace stepscope {

struct LiveFlags {
  LiveRequest request;
  std::string json{};
  std::string open_metrics{};  // a file
  std::string serve{};         // PORT or ADDRESS:PORT
  std::string token_file{};
  std::vector<std::pair<std::string, std::string>> on{};  // event, command
  bool plain = false;
};

void declare(CLI::App& app, LiveFlags& flags);

}  // namespace stepscope
