// SPDX-License-Identifier: Apache-2.0
// `stepscope compare`: flags to request, result to outputs.
#include "stepscope/pipeline/compare.h"

#include <fmt/format.h>

#include <memory>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/compare_json.h"
#include "stepscope/report/terminal/compare_text.h"

namespace stepscope {
namespace {

struct CompareFlags {
  std::vector<std::string> inputs;
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::vector<std::string> commands;
  std::size_t launches = 3;
  double timeout = 0;  // seconds; 0: none
  std::string keep;
  std::string order;
  std::string unit = "ms";
  std::string step_annotation;
  std::optional<std::size_t> warm_up;
  double alpha = 0.05;
  double floor = 1;                      // percent
  std::optional<double> max_regression;  // percent
  std::string json;
  std::string csv;
};

void declare(CLI::App& app, CompareFlags& f) {
  app.add_option("INPUTS", f.inputs,
                 "A and B, one launch each: a trace, a directory or glob of one, the JSON of "
                 "stepscope train, a list of step times (CSV, one number a line, a log)");
  app.add_option("--a", f.a, "launches of A, in the order they ran");
  app.add_option("--b", f.b, "launches of B");
  app.add_option("--run", f.commands,
                 "twice: the command of A, then of B; it writes a trace, JSON or list to {out}, or "
                 "prints lines with step_time_ms=…")
      ->allow_extra_args(false);
  app.add_option("--launches", f.launches, "of each command, interleaved A B B A")
      ->check(CLI::Range(1, 1000));
  app.add_option("--timeout", f.timeout, "seconds that a launch may take")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--keep", f.keep, "directory where what the launches wrote stays");
  app.add_option("--order", f.order, "in which the launches ran, as ABBA");
  app.add_option("--unit", f.unit, "of lists whose header names none")
      ->check(CLI::IsMember({"ns", "us", "ms", "s"}));
  app.add_option("--step-annotation", f.step_annotation,
                 "what stands before '#' in the steps of traces");
  app.add_option("--warm-up", f.warm_up, "steps of each launch to leave out (default: found)");
  app.add_option("--alpha", f.alpha, "chance of a wrong call between equal arms")
      ->check(CLI::Range(0.0001, 0.5));
  app.add_option("--floor", f.floor, "percent below which a change does not matter")
      ->check(CLI::Range(0.0, 50.0));
  app.add_option("--max-regression", f.max_regression,
                 "percent; exit code 3 where B is slower by more")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--json", f.json, "write the result to this file (- = standard output)");
  app.add_option("--csv", f.csv, "write launches and parts to this directory");
  app.footer("Example: stepscope compare before.csv after.csv --max-regression 2");
}

Result<Done> check_usage(CompareFlags& f) {
  const std::string example =
      "write stepscope compare A B, --a A1 A2 --b B1 B2, or --run 'CMD A' "
      "--run 'CMD B'";
  if (!f.commands.empty()) {
    if (f.commands.size() != 2 || !f.inputs.empty() || !f.a.empty() || !f.b.empty() ||
        !f.order.empty())
      return Error{.what = "--run stands twice, without inputs or --order", .hint = example};
    return Done{};
  }
  if (!f.inputs.empty()) {
    if (f.inputs.size() != 2 || !f.a.empty() || !f.b.empty())
      return Error{.what = fmt::format("two inputs are compared, not {}",
                                       f.inputs.size() + f.a.size() + f.b.size()),
                   .hint = example};
    f.a = {f.inputs[0]};
    f.b = {f.inputs[1]};
  }
  if (f.a.empty() || f.b.empty()) return Error{.what = "two inputs are compared", .hint = example};
  return Done{};
}

// 'A' = false, 'B' = true.
Result<std::vector<bool>> order_of(const std::string& letters) {
  std::vector<bool> order;
  for (const char c : letters) {
    if (c != 'A' && c != 'B')
      return Error{.what = "--order " + letters + " is no order", .hint = "write it as ABBA"};
    order.push_back(c == 'B');
  }
  return order;
}

Result<CompareRequest> request_of(CompareFlags& f) {
  if (const auto checked = check_usage(f); !checked) return checked.error();
  auto order = order_of(f.order);
  if (!order) return order.error();
  CompareRequest r{.a = f.a,
                   .b = f.b,
                   .limits = {.launches = f.launches, .keep = f.keep},
                   .reading = {.unit = *time_unit(f.unit), .step_annotation = f.step_annotation},
                   .order = std::move(*order),
                   .launching = show_launch};
  if (f.timeout > 0) r.limits.seconds = f.timeout;
  if (!f.commands.empty()) r.commands = std::pair(f.commands[0], f.commands[1]);
  r.options.ratio.alpha = f.alpha;
  r.options.ratio.floor = f.floor / 100;
  r.options.warm_up = f.warm_up;
  if (f.max_regression) r.max_regression = *f.max_regression / 100;
  return r;
}

int answer(CompareFlags& f) {
  const auto request = request_of(f);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = compare(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.json != "-")
    print_text(compare_text(*result, {.width = terminal_width(), .colour = wants_colour()}));
  const Json tree = compare_tree(*result);
  write_json_text(f.json, json_text(tree), failures);
  if (!f.csv.empty()) write_tables(f.csv, compare_csv(tree), failures);
  flush_output(failures);
  if (failures.any()) return exit_failed;
  return result->regression.value_or(false) ? exit_regression : exit_done;
}

}  // namespace

std::function<int()> declare_compare(CLI::App& app) {
  auto flags = std::make_shared<CompareFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
