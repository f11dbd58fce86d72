// SPDX-License-Identifier: Apache-2.0
// `stepscope compare`: flags to request, result to outputs.
#include "stepscope/pipeline/compare.h"

#include <memory>

#include "stepscope/cli/flags/compare_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/compare_json.h"
#include "stepscope/report/terminal/compare_text.h"

namespace stepscope {
namespace {

int exit_code(const Comparison& r, const std::string& inconclusive) {
  if (!r.max_regression) return exit_done;
  if (r.regression) return *r.regression ? exit_regression : exit_done;
  return inconclusive == "ok" ? exit_done : exit_inconclusive;
}

int answer(const CompareFlags& f) {
  auto request = compare_request(f);
  if (!request) return refused(request.error());
  request->launching = show_launch;
  Failures failures;
  const auto result = compare(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.out.prints()) print_text(compare_text(*result, text_options(f.out.html)));
  const Json tree = compare_tree(*result);
  if (f.out.has_tree()) write_tree(f.out, tree, failures);
  if (!f.out.csv.empty()) write_tables(f.out.csv, compare_tables(tree), failures);
  flush_output(failures);
  if (failures.any()) return exit_failed;
  return exit_code(*result, f.inconclusive);
}

}  // namespace

std::function<int()> declare_compare(CLI::App& app) {
  auto flags = std::make_shared<CompareFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
