// SPDX-License-Identifier: Apache-2.0
// `stepscope hang`: why a job stands still, from flight recorders, NCCL's logs and watchdogs.
#include "stepscope/pipeline/hang.h"

#include <memory>

#include "stepscope/cli/flags/hang_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/json/hang_json.h"
#include "stepscope/report/terminal/hang_text.h"

namespace stepscope {
namespace {

int answer(const HangFlags& flags) {
  Failures failures;
  const auto result = hang(flags.request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (flags.out.prints()) print_text(hang_text(*result, text_options(flags.out.html)));
  if (flags.out.has_tree()) write_tree(flags.out, hang_tree(*result), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_hang(CLI::App& app) {
  auto flags = std::make_shared<HangFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
