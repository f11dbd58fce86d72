// SPDX-License-Identifier: Apache-2.0
// `stepscope compare`: reads or launches two arms, asks whether they differ, and hands the answer
// to the faces.
#include <fmt/format.h>

#include <memory>
#include <thread>

#include "stepscope/cli/arm_inputs.h"
#include "stepscope/cli/arm_runs.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/compare_report.h"
#include "stepscope/report/json_report.h"

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

// 'A' = false, 'B' = true; it has to name each launch once.
Result<std::vector<bool>> order_of(const CompareFlags& f, std::size_t a, std::size_t b) {
  std::vector<bool> order;
  if (f.order.empty()) return order;
  for (const char c : f.order) {
    if (c != 'A' && c != 'B')
      return Error{.what = "--order " + f.order + " is no order", .hint = "write it as ABBA"};
    order.push_back(c == 'B');
  }
  const auto in_b = static_cast<std::size_t>(std::ranges::count(order, true));
  if (in_b != b || order.size() - in_b != a)
    return Error{.what = fmt::format("--order {} names {} launches of A and {} of B; there are {} "
                                     "and {}",
                                     f.order, order.size() - in_b, in_b, a, b),
                 .hint = "name each launch once"};
  return order;
}

// A B B A A B B A …
std::vector<bool> interleaved(std::size_t launches) {
  std::vector<bool> order;
  for (std::size_t i = 0; i < launches; ++i) {
    order.push_back(i % 2 == 1);
    order.push_back(i % 2 == 0);
  }
  return order;
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

struct Arms {
  std::vector<LaunchSteps> a;
  std::vector<LaunchSteps> b;
  std::vector<bool> order;
  std::vector<std::string> remarks;
};

void read_arms(const CompareFlags& f, const ArmSource& source, Arms& arms, Failures& failures) {
  for (const auto& [inputs, launches] : {std::pair{&f.a, &arms.a}, std::pair{&f.b, &arms.b}})
    for (const std::string& input : *inputs)
      if (auto launch = read_launch(input, source, arms.remarks, failures))
        launches->push_back(std::move(*launch));
}

void launch_arms(const CompareFlags& f, const ArmSource& source, Arms& arms, Failures& failures) {
  auto folder = LaunchFolder::make(f.keep);
  if (!folder) return failures.add(folder.error());
  const std::vector<bool> order = interleaved(f.launches);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& launches = order[i] ? arms.b : arms.a;
    LaunchOrder launch{.words = shell_words(f.commands[order[i] ? 1 : 0]),
                       .name = fmt::format("{} {}", order[i] ? 'B' : 'A', launches.size() + 1),
                       .folder = {},
                       .seconds = f.timeout > 0 ? std::optional(f.timeout) : std::nullopt};
    launch.folder = fmt::format("{}/{}", folder->path(), replaced(launch.name, " ", ""));
    show_launch(i + 1, order.size(), launch.name);
    auto steps = run_launch(launch, source, arms.remarks);
    if (!steps) return failures.add(steps.error());
    launches.push_back(std::move(*steps));
    arms.order.push_back(order[i]);
  }
}

std::string letters(const std::vector<bool>& order) {
  std::string text;
  for (const bool in_b : order) text += in_b ? 'B' : 'A';
  return text;
}

CompareOptions options_of(const CompareFlags& f) {
  CompareOptions options;
  options.ratio.alpha = f.alpha;
  options.ratio.floor = f.floor / 100;
  // A limit below the floor is what matters then.
  if (f.max_regression)
    options.ratio.floor = std::min(options.ratio.floor, *f.max_regression / 100);
  options.warm_up = f.warm_up;
  return options;
}

void write_outputs(const CompareFlags& f, const CompareReport& report, Failures& failures) {
  if (f.json != "-")
    fmt::print("{}", compare_text(report, {.width = terminal_width(), .colour = wants_colour()}));
  if (f.json.empty() && f.csv.empty()) return;
  const Json tree = compare_tree(report);
  write_json_text(f.json, json_text(tree), failures);
  if (!f.csv.empty()) write_tables(f.csv, compare_csv(tree), failures);
}

int compare(CompareFlags& f) {
  if (const auto usage = check_usage(f); !usage) return refused(usage.error());
  auto order = order_of(f, f.a.size(), f.b.size());
  if (!order) return refused(order.error());
  const StopFlag& stop = stop_on_signals();
  ArmSource source{.unit = *time_unit(f.unit),
                   .job = {},
                   .threads = std::max(1U, std::thread::hardware_concurrency()),
                   .stop = &stop};
  source.job.steps.annotation = f.step_annotation;
  Arms arms{.a = {}, .b = {}, .order = std::move(*order), .remarks = {}};
  Failures failures;
  if (f.commands.empty())
    read_arms(f, source, arms, failures);
  else
    launch_arms(f, source, arms, failures);
  if (stop.requested()) return exit_interrupted;
  if (arms.a.empty() || arms.b.empty() || (!f.commands.empty() && failures.any()))
    return exit_failed;
  if (arms.order.size() != arms.a.size() + arms.b.size()) arms.order.clear();
  CompareReport report;
  report.options = options_of(f);
  const RunComparison runs = compare_runs(arms.a, arms.b, arms.order, report.options);
  report.version = STEPSCOPE_VERSION;
  const auto label = [](const std::vector<std::string>& inputs, const std::string& command) {
    return command.empty() ? inputs.front() : command;
  };
  report.label_a = label(f.a, f.commands.empty() ? std::string() : f.commands[0]);
  report.label_b = label(f.b, f.commands.empty() ? std::string() : f.commands[1]);
  report.runs = &runs;
  if (f.max_regression) report.max_regression = *f.max_regression / 100;
  report.order = letters(arms.order);
  report.warnings = compare_warnings(runs);
  report.warnings.insert(report.warnings.end(), arms.remarks.begin(), arms.remarks.end());
  write_outputs(f, report, failures);
  flush_output(failures);
  if (failures.any()) return exit_failed;
  return is_regression(report).value_or(false) ? exit_regression : exit_done;
}

}  // namespace

std::function<int()> declare_compare(CLI::App& app) {
  auto flags = std::make_shared<CompareFlags>();
  declare(app, *flags);
  return [flags] { return compare(*flags); };
}

}  // namespace stepscope
