// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope stacks`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "stepscope/base/result.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/verbs/inputs/traces_flags.h"
#include "stepscope/verbs/stacks/stacks.h"

namespace stepscope {

struct StacksFlags {
  StacksRequest request;  // what needs no understanding is written here at once
  TracesFlags traces;     // inputs empty: no trace
  std::string offset;     // "-0.25s"
  bool top_down = false;
  bool bottom_up = false;
  double least = 0.01;  // of a tree
  OutputPaths out;
};

void declare(CLI::App& app, StacksFlags& flags);
// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<StacksRequest> stacks_request(const StacksFlags& flags);

}  // namespace stepscope
