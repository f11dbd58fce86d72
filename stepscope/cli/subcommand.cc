// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/subcommand.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/isa.h"
#include "stepscope/cli/command_line.h"
#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cli/help/help_text.h"
#include "stepscope/cli/help/suggest.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

constexpr std::string_view understand = "Understand a run";
constexpr std::string_view compare_runs = "Compare";
constexpr std::string_view plan_ahead = "Plan ahead";

#ifdef STEPSCOPE_ENGINE
constexpr std::string_view train_summary = "Train a network with ZeRO on this machine's cores";
#else
constexpr std::string_view train_summary = "Not in this build: it has no engine";
#endif

constexpr std::array<Verb, 20> table = {{
    {"analyze", "Account for every step of a run, from the traces of its ranks", understand,
     "how-to/analyze-your-traces.md", declare_analyze},
    {"whatif", "Replay recorded steps with a change, to see what it would buy", understand,
     "reference/changes.md", declare_whatif},
    {"check", "Say what a few steps or a log tell, and what to record next", understand,
     "how-to/compare-two-runs.md", declare_check},
    {"digest", "Write small files that stand for the traces of many ranks", understand,
     "how-to/analyze-many-ranks.md", declare_digest},
    {"memory", "Show what holds a GPU's memory, from PyTorch's snapshots", understand,
     "how-to/find-what-holds-memory.md", declare_memory},
    {"stacks", "Show what the host does in each phase, from sampled stacks", understand,
     "how-to/read-stacks.md", declare_stacks},
    {"hang", "Find why a job stands still, from dumps and NCCL logs", understand,
     "how-to/diagnose-a-hang.md", declare_hang},
    {"live", "Follow a running job: step times, late and silent ranks", understand,
     "how-to/watch-a-running-job.md", declare_live},
    {"compare", "Decide whether two runs differ, or whether it is noise", compare_runs,
     "how-to/compare-two-runs.md", declare_compare},
    {"sweep", "Run a command at several values of a setting and rank them", compare_runs,
     "how-to/compare-two-runs.md", declare_sweep},
    {"runs", "Keep past runs in a file, and say from which one on steps changed", compare_runs,
     "how-to/keep-a-history.md", declare_runs},
    {"predict", "Predict the step of a model, or a collective, on a machine", plan_ahead,
     "how-to/predict-a-step.md", declare_predict},
    {"project", "Project the recorded steps to other GPUs or another plan", plan_ahead,
     "how-to/project-a-run.md", declare_project},
    {"plan", "Search the fastest way to run a model on a number of GPUs", plan_ahead,
     "how-to/search-a-plan.md", declare_plan},
    {"calibrate", "Measure this machine, or fit benchmarks, into a machine file", plan_ahead,
     "how-to/calibrate-a-machine.md", declare_calibrate},
    {"train", train_summary, "Train", "how-to/train-with-zero.md", declare_train},
    {"mcp", "Serve the verbs to an assistant (Model Context Protocol)", "This program",
     "how-to/use-from-python.md", declare_mcp},
    {"help", "Show the help of the program or of a verb", "This program", "reference/flags.md",
     declare_help},
    {"completion", "Print the completion script of a shell", "This program", "reference/flags.md",
     declare_completion},
    {"man", "Print man pages", "", "reference/flags.md", declare_man},
}};

int wrong_usage(const std::string& sentence) {
  say("stepscope: {}\n", printable(sentence));
  return exit_usage;
}

// The verb that the command line names, or null.
const CLI::App* parsed_verb(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? nullptr : verbs.front();
}

// One line, as every other error. An unknown flag is said first: what stands behind it was taken
// for an argument.
int refuse(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* verb = parsed_verb(app);
  for (const std::string& left : app.remaining())
    if (left.starts_with('-'))
      return wrong_usage("stepscope has no flag " + left + "; flags stand behind the verb");
  if (verb == nullptr)
    return wrong_usage(std::string(error.what()) + "; stepscope --help lists verbs");
  for (const std::string& left : verb->remaining())
    if (left.size() > 1 && left.starts_with('-')) return wrong_usage(unknown_flag(*verb, left));
  return wrong_usage(std::string(error.what()) + "; stepscope help " + verb->get_name() +
                     " lists the flags");
}

}  // namespace

std::span<const Verb> verb_table() { return table; }

CommandLine declare_command_line(std::size_t width) {
  CommandLine line;
  line.app = std::make_unique<CLI::App>(
      "stepscope: where does each training step go, what would a change buy, and did it help?",
      "stepscope");
  CLI::App& app = *line.app;
  app.formatter(help_formatter(table, width));
  app.set_help_flag("-h,--help", "Show this help")->group(help_group);
  app.set_version_flag("-V,--version", STEPSCOPE_VERSION, "Show the version")->group(help_group);
  app.require_subcommand(1);
  app.footer(
      "stepscope analyze traces/ --html report.html\n"
      "stepscope whatif traces/ --change bandwidth:2\n"
      "stepscope compare before.csv after.csv --max-regression 2%\n"
      "stepscope plan llama-3-8b --machine h100_sxm_80gb --gpus 64 --global-batch 256 --seq 8192");
  for (const Verb& verb : table) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->get_help_ptr()->group(help_group);
    if (verb.group.empty()) sub->group("");
    line.actions.push_back(verb.declare(*sub));
  }
  return line;
}

int run_command_line(int argc, char** argv) try {
  if (const auto limit = isa_limit_from_environment(); !limit)
    return wrong_usage(limit.error().message());
  const CommandLine line = declare_command_line(help_width());
  CLI::App& app = *line.app;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first.empty()) return wrong_usage("a verb is missing; stepscope --help lists verbs");
  if (!first.starts_with('-') && find_verb(app, first) == nullptr)
    return wrong_usage(unknown_verb(app, first));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return refuse(app, error);
  }
  if (const auto safe = check_outputs(*parsed_verb(app)); !safe)
    return wrong_usage(safe.error().message());
  for (std::size_t i = 0; i < table.size(); ++i)
    if (app.got_subcommand(std::string(table[i].name))) return line.actions[i]();
  return exit_usage;
} catch (const std::bad_alloc&) {
  std::fputs("stepscope: out of memory; give a part of the input, or a machine with more memory\n",
             stderr);
  return exit_failed;
} catch (const std::exception& error) {
  say("stepscope: {}; this is a bug of stepscope, please report it\n", printable(error.what()));
  return exit_failed;
}

}  // namespace stepscope
