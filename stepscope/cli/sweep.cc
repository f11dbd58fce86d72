// SPDX-License-Identifier: Apache-2.0
// `stepscope sweep`: launches a command at several values of a setting, forth and back, and says
// which is fastest and which tie with it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>

#include "stepscope/cli/arm_runs.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/sweep_report.h"

namespace stepscope {
namespace {

struct SweepFlags {
  std::string vary;
  std::vector<std::string> command;
  std::size_t launches = 2;
  double timeout = 0;
  std::string keep;
  std::string unit = "ms";
  std::string step_annotation;
  std::optional<std::size_t> warm_up;
  double alpha = 0.05;
  double floor = 1;  // percent
  std::string json;
  std::string csv;
};

void declare(CLI::App& app, SweepFlags& f) {
  app.add_option("--vary", f.vary, "NAME=V1,V2,…: {NAME} in the command becomes each value")
      ->required();
  app.add_option("CMD", f.command,
                 "behind --: the program and its arguments; it writes its step times to {out}, or "
                 "prints lines with step_time_ms=…");
  app.add_option("--launches", f.launches, "of each value, in turn")->check(CLI::Range(1, 1000));
  app.add_option("--timeout", f.timeout, "seconds that a launch may take")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--keep", f.keep, "directory where what the launches wrote stays");
  app.add_option("--unit", f.unit, "of lists whose header names none")
      ->check(CLI::IsMember({"ns", "us", "ms", "s"}));
  app.add_option("--step-annotation", f.step_annotation,
                 "what stands before '#' in the steps of traces");
  app.add_option("--warm-up", f.warm_up, "steps of each launch to leave out (default: found)");
  app.add_option("--alpha", f.alpha, "share of the values called slower that may be so by chance")
      ->check(CLI::Range(0.0001, 0.5));
  app.add_option("--floor", f.floor, "percent below which values tie")
      ->check(CLI::Range(0.0, 50.0));
  app.add_option("--json", f.json, "write the result to this file (- = standard output)");
  app.add_option("--csv", f.csv, "write the values to this directory");
  app.footer(
      "Example: stepscope sweep --vary bucket=1MB,5MB,25MB -- stepscope train --bucket "
      "{bucket} --data TEXT --json {out}");
}

struct Varied {
  std::string name;
  std::vector<std::string> values;
};

Result<Varied> parse_vary(const SweepFlags& f) {
  const std::size_t equals = f.vary.find('=');
  const Error wrong{.what = "--vary " + f.vary + " names no values",
                    .hint = "write --vary bucket=1MB,5MB and {bucket} in the command"};
  if (equals == std::string::npos || equals == 0) return wrong;
  Varied varied{.name = f.vary.substr(0, equals), .values = {}};
  std::string_view rest = std::string_view(f.vary).substr(equals + 1);
  for (;;) {
    const std::size_t comma = rest.find(',');
    varied.values.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  const std::set<std::string> distinct(varied.values.begin(), varied.values.end());
  if (distinct.contains("") || varied.name == "out") return wrong;
  if (distinct.size() != varied.values.size())
    return Error{.what = "--vary " + f.vary + " names a value twice", .hint = wrong.hint};
  const std::string key = "{" + varied.name + "}";
  if (f.command.empty())
    return Error{.what = "the command is missing", .hint = "write it behind --"};
  if (std::ranges::none_of(f.command,
                           [&](const auto& word) { return word.find(key) != std::string::npos; }))
    return Error{.what = key + " is not in the command", .hint = wrong.hint};
  return varied;
}

std::vector<std::string> words_with(const SweepFlags& f, const Varied& varied, std::size_t value) {
  std::vector<std::string> words = f.command;
  for (std::string& word : words)
    word = replaced(std::move(word), "{" + varied.name + "}", varied.values[value]);
  return words;
}

// Forth and back, so that a drift of the machine favours none. False where a launch failed.
bool launch_all(const SweepFlags& f, const Varied& varied, const ArmSource& source,
                std::vector<SweepValue>& values, SweepReport& report, Failures& failures) {
  auto folder = LaunchFolder::make(f.keep);
  if (!folder) return failures.add(folder.error()), false;
  const std::size_t all = f.launches * varied.values.size();
  for (std::size_t i = 0; i < all; ++i) {
    const std::size_t round = i / varied.values.size();
    const std::size_t place = i % varied.values.size();
    const std::size_t v = round % 2 == 0 ? place : varied.values.size() - 1 - place;
    const LaunchOrder launch{
        .words = words_with(f, varied, v),
        .name = fmt::format("{}={} {}", varied.name, varied.values[v], round + 1),
        .folder = fmt::format("{}/{}-{}", folder->path(), v + 1, round + 1),
        .seconds = f.timeout > 0 ? std::optional(f.timeout) : std::nullopt};
    show_launch(i + 1, all, launch.name);
    auto steps = run_launch(launch, source, report.warnings);
    if (!steps) return failures.add(steps.error()), false;
    values[v].launches.push_back(std::move(*steps));
    report.order.push_back(varied.values[v]);
  }
  return true;
}

int sweep(const SweepFlags& f) {
  const auto varied = parse_vary(f);
  if (!varied) return refused(varied.error());
  const StopFlag& stop = stop_on_signals();
  ArmSource source{.unit = *time_unit(f.unit),
                   .job = {},
                   .threads = std::max(1U, std::thread::hardware_concurrency()),
                   .stop = &stop};
  source.job.steps.annotation = f.step_annotation;
  std::vector<SweepValue> values;
  for (const std::string& value : varied->values) values.push_back({value, {}});
  SweepReport report;
  report.version = STEPSCOPE_VERSION;
  report.name = varied->name;
  report.options.ratio.alpha = f.alpha;
  report.options.ratio.floor = f.floor / 100;
  report.options.warm_up = f.warm_up;
  Failures failures;
  const bool launched = launch_all(f, *varied, source, values, report, failures);
  if (stop.requested()) return exit_interrupted;
  if (!launched) return exit_failed;
  const Sweep result = compare_values(values, report.options);
  report.sweep = &result;
  if (f.json != "-")
    fmt::print("{}", sweep_text(report, {.width = terminal_width(), .colour = wants_colour()}));
  const Json tree = sweep_tree(report);
  write_json_text(f.json, json_text(tree), failures);
  if (!f.csv.empty()) write_tables(f.csv, sweep_csv(tree), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_sweep(CLI::App& app) {
  auto flags = std::make_shared<SweepFlags>();
  declare(app, *flags);
  return [flags] { return sweep(*flags); };
}

}  // namespace stepscope
