// SPDX-License-Identifier: Apache-2.0
// A verb: what help, man pages, completion and docs say of it, and what the command line and Python
// run.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string_view>

#include "stepscope/face/help/answer.h"
#include "stepscope/face/help/exit_code.h"

namespace stepscope {

// What to do once the flags are parsed.
struct VerbRun {
  std::function<int()> command;  // for a person: prints, writes, returns an ExitCode
  std::function<Result<Answer>(const Progress& progress)> answer{};  // for Python; may be empty
};

struct Verb {
  std::string_view name;
  std::string_view summary;  // one line
  std::string_view group;    // the task, as `stepscope --help` groups verbs; empty: not listed
  std::string_view page;     // under docs/
  VerbRun (*declare)(CLI::App& app);  // declares the flags on `app`
};

}  // namespace stepscope
