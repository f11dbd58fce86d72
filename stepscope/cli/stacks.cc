// SPDX-License-Identifier: Apache-2.0
// `stepscope stacks`: host profiles, and which phase of training their threads are in.
#include "stepscope/pipeline/stacks.h"

#include <memory>

#include "stepscope/cli/flags/stacks_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/stacks_json.h"
#include "stepscope/report/terminal/stacks_text.h"

namespace stepscope {
namespace {

int answer(const StacksFlags& flags) {
  const auto request = stacks_request(flags);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = stacks(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (flags.out.prints())
    print_text(stacks_text(*result, {.text = text_options(flags.out.html),
                                     .top_down = flags.top_down,
                                     .bottom_up = flags.bottom_up,
                                     .least = flags.least}));
  if (flags.out.has_tree() || !flags.out.csv.empty()) {
    const Json tree = stacks_tree(*result);
    if (flags.out.has_tree()) write_tree(flags.out, tree, failures);
    if (!flags.out.csv.empty()) write_tables(flags.out.csv, stacks_tables(tree), failures);
  }
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_stacks(CLI::App& app) {
  auto flags = std::make_shared<StacksFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
