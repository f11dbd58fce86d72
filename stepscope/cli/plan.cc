// SPDX-License-Identifier: Apache-2.0
// `stepscope plan`: the fastest way to run a model on a number of GPUs.
#include "stepscope/pipeline/plan.h"

#include <fmt/format.h>

#include <memory>

#include "stepscope/cli/flags/plan_search_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/plan_result_json.h"
#include "stepscope/report/terminal/plan_text.h"

namespace stepscope {
namespace {

Error nothing_fits(const SearchResult& result) {
  return {.what = "no plan can run on the devices of --gpus",
          .hint = result.smallest_devices
                      ? fmt::format("give --gpus {}, where one fits", *result.smallest_devices)
                      : "see what was rejected, and change the model or the limits"};
}

int answer(const PlanFlags& flags) {
  const auto request = plan_request(flags);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = plan(*request, progress_of(failures));
  if (!result) return refused(result.error());
  if (flags.out.prints()) {
    print_text(plan_text(
        *result, {.text = text_options(flags.out.html), .framework = framework_name(flags)}));
  }
  if (flags.out.has_tree() || !flags.out.csv.empty()) {
    const Json tree = plan_tree(*result);
    if (flags.out.has_tree()) write_tree(flags.out, tree, failures);
    if (!flags.out.csv.empty()) write_tables(flags.out.csv, plan_tables(tree), failures);
  }
  flush_output(failures);
  if (result->found.stopped) return exit_interrupted;
  if (result->found.best.empty()) failures.add(nothing_fits(result->found));
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_plan(CLI::App& app) {
  auto flags = std::make_shared<PlanFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
