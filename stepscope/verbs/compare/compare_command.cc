// SPDX-License-Identifier: Apache-2.0
// `stepscope compare`: its flags, the request that they make, and where its result goes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/verbs/compare/compare.h"
#include "stepscope/verbs/compare/compare_views.h"
#include "stepscope/verbs/inputs/measuring_flags.h"
#include "stepscope/verbs/inputs/traces_flags.h"

namespace stepscope {

namespace {

struct CompareFlags {
  std::vector<std::string> inputs;
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::string label_a;
  std::string label_b;
  std::vector<std::string> commands;
  LaunchFlags launching{.launches = 3};
  std::string order;
  std::string unit{};
  std::string log_pattern;
  std::string step_annotation;
  std::string kernel_rules;
  StatisticsFlags statistics;
  bool verbose = false;
  std::optional<double> max_regression;  // a share
  std::string inconclusive = "fail";
  OutputPaths out;
};

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

void declare(CLI::App& app, CompareFlags& f) {
  const char* inputs = "Inputs";
  const char* launches = "Launches";
  app.description(
      "Decides whether B differs from A in its step time or whether that is noise, and in which "
      "parts of the step. A and B are recorded runs, or commands that it launches in turn.");
  app.add_option("INPUTS", f.inputs,
                 "A and B, one launch each: a trace, a directory or glob of one, the JSON of "
                 "stepscope train, a list of step times (CSV, one number a line, a log)")
      ->type_name("PATH");
  app.add_option("--a", f.a, "Launches of A, in the order they ran")
      ->type_name("PATH")
      ->group(inputs);
  app.add_option("--b", f.b, "Launches of B, in the order they ran")
      ->type_name("PATH")
      ->group(inputs);
  // For callers whose inputs have no names, as Python's lists of numbers; not shown in help.
  app.add_option("--label-a", f.label_a)->group("");
  app.add_option("--label-b", f.label_b)->group("");
  app.add_option("--run", f.commands,
                 "Command to launch, given twice: of A, then of B. It writes a trace, JSON or a "
                 "list to {out}, or prints lines with step_time_ms=NUMBER.")
      ->type_name("COMMAND")
      ->allow_extra_args(false)
      ->group(launches);
  declare_launches(app, f.launching, "Launches of each command, interleaved A B B A");
  app.add_option("--order", f.order, "Order in which the recorded launches ran, as ABBA")
      ->type_name("LETTERS")
      ->group(inputs);
  declare_unit(app, f.unit);
  declare_log_pattern(app, f.log_pattern);
  declare_step_annotation(app, f.step_annotation, inputs);
  declare_kernel_rules(app, f.kernel_rules, inputs);
  declare_statistics(app, f.statistics);
  declare_regression(app, f.max_regression, f.inconclusive,
                     "Slowdown of B above which the exit code is 3; 4 if the steps cannot "
                     "tell");
  app.add_flag("-v,--verbose", f.verbose, "Print every kernel and operator that differs")
      ->group("Outputs");
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  declare_csv(app, f.out.csv);
  mark_common(app, {"--a", "--b", "--run", "--launches", "--max-regression", "--verbose", "--json",
                    "--html", "--csv"});
  app.footer(
      "stepscope compare before.csv after.csv --max-regression 2%\n"
      "stepscope compare --run './train.sh --fused 0 --out {out}' --run './train.sh --fused 1 "
      "--out "
      "{out}'");
}

// As understood. The errors say what is wrong and what to write.
Result<CompareRequest> compare_request(CompareFlags f) {
  if (const auto checked = check_usage(f); !checked) return checked.error();
  if (f.inconclusive != "fail" && !f.max_regression)
    return Error{.what = "--inconclusive needs --max-regression",
                 .hint = "write stepscope compare A B --max-regression 2% --inconclusive ok"};
  auto order = order_of(f.order);
  if (!order) return order.error();
  CompareRequest r{.a = f.a,
                   .b = f.b,
                   .label_a = f.label_a,
                   .label_b = f.label_b,
                   .limits = limits_of(f.launching),
                   .reading = {.steps = reading_of(f.unit, f.log_pattern),
                               .step_annotation = f.step_annotation,
                               .kernel_rules = f.kernel_rules},
                   .order = std::move(*order)};
  if (!f.commands.empty()) r.commands = std::pair(f.commands[0], f.commands[1]);
  r.options.ratio.alpha = f.statistics.alpha;
  r.options.ratio.floor = f.statistics.floor;
  r.options.warm_up = f.statistics.warm_up;
  r.max_regression = f.max_regression;
  return r;
}

ExitCode exit_code(const Comparison& r, const std::string& inconclusive) {
  if (!r.max_regression) return exit_done;
  if (r.regression) return *r.regression ? exit_regression : exit_done;
  return inconclusive == "ok" ? exit_done : exit_inconclusive;
}

Result<Answer> answer(const CompareFlags& flags, const Progress& progress) {
  const auto text = [verbose = flags.verbose](const Comparison& r, TextOptions options) {
    if (verbose) options.detail = TextDetail::all;
    return compare_text(r, options);
  };
  return answer_to(compare_request(flags), compare, progress, compare_tree, text,
                   {.tables = compare_tables, .page = page_of_tree},
                   [&](const Comparison& r) { return exit_code(r, flags.inconclusive); });
}

VerbRun declare_compare(CLI::App& app) { return declare_answering<CompareFlags>(app, answer); }

}  // namespace

extern const Verb compare_verb{"compare", "Decide whether two runs differ, or whether it is noise",
                               "Compare", "how-to/compare-two-runs.md", declare_compare};

}  // namespace stepscope
