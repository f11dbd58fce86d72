// SPDX-License-Identifier: Apache-2.0
// `stepscope sweep`: flags to request, result to outputs.
#include "stepscope/pipeline/sweep.h"

#include <memory>

#include "stepscope/cli/flags/sweep_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/compare_json.h"
#include "stepscope/report/terminal/compare_text.h"

namespace stepscope {
namespace {

int answer(const SweepFlags& f) {
  auto request = sweep_request(f);
  if (!request) return refused(request.error());
  request->launching = show_launch;
  Failures failures;
  const auto result = sweep(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.out.prints()) print_text(sweep_text(*result, text_options(f.out.html)));
  const Json tree = sweep_tree(*result);
  if (f.out.has_tree()) write_tree(f.out, tree, failures);
  if (!f.out.csv.empty()) write_tables(f.out.csv, sweep_tables(tree), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_sweep(CLI::App& app) {
  auto flags = std::make_shared<SweepFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
