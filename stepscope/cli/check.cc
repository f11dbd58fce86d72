// SPDX-License-Identifier: Apache-2.0
// `stepscope check`: flags to request, result to outputs.
#include "stepscope/pipeline/check.h"

#include <memory>

#include "stepscope/cli/flags/check_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/json/check_json.h"
#include "stepscope/report/terminal/check_text.h"

namespace stepscope {
namespace {

int answer(const CheckFlags& f) {
  const auto request = check_request(f);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = check(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.out.prints()) print_text(check_text(*result, text_options(f.out.html)));
  if (f.out.has_tree()) write_tree(f.out, check_tree(*result), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_check(CLI::App& app) {
  auto flags = std::make_shared<CheckFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
