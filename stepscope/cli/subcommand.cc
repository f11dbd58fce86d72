// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/subcommand.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "stepscope/base/isa.h"

namespace stepscope {
namespace {

constexpr std::array<Subcommand, 12> table = {{
    {"analyze", "where does each step go: a time budget from the traces of many ranks",
     declare_analyze},
    {"whatif", "what a change would buy: the recorded steps replayed without or with less of it",
     declare_whatif},
    {"predict", "what should a model, or a collective, reach on a machine, term by term",
     declare_predict},
    {"plan", "the fastest way to run a model on a number of GPUs, out of all", declare_plan},
    {"train", "train a network with ZeRO on the cores of this machine, every step accounted for",
     declare_train},
    {"compare", "did a change help, or is it noise: two runs, traces or lists of step times",
     declare_compare},
    {"sweep",
     "run a command at several values of a setting: which is fastest, and which tie with it",
     declare_sweep},
    {"check", "what a few steps tell already, and what to record next", declare_check},
    {"calibrate", "measure this machine's cores, links and drives into a machine file",
     declare_calibrate},
    {"hang", "why does a job stand still: flight recorders, NCCL logs and watchdogs", declare_hang},
    {"memory", "what holds a GPU's memory: PyTorch's memory snapshots", declare_memory},
    {"stacks", "what is the host doing: phases of training from sampled stacks", declare_stacks},
}};

bool known(std::string_view verb) {
  return std::ranges::find(table, verb, &Subcommand::name) != table.end();
}

// One line, as every other error.
std::string usage_error(const CLI::App* /*app*/, const CLI::Error& error) {
  return std::string("stepscope: ") + error.what() + "; --help lists the flags\n";
}

}  // namespace

std::span<const Subcommand> subcommands() { return table; }

int run_command_line(int argc, char** argv) try {
  if (const auto limit = isa_limit_from_environment(); !limit) {
    std::fprintf(stderr, "stepscope: %s\n", limit.error().message().c_str());
    return exit_usage;
  }
  CLI::App app(
      "stepscope: where does each training step go, what would a change buy, and did it help?",
      "stepscope");
  app.set_version_flag("--version", STEPSCOPE_VERSION);
  app.require_subcommand(1);
  app.failure_message(usage_error);
  app.footer("Example: stepscope analyze traces/ --html report.html");
  std::vector<std::function<int()>> actions;
  for (const Subcommand& verb : table) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    actions.push_back(verb.declare(*sub));
  }
  if (const std::string_view verb = argc > 1 ? argv[1] : "-";
      !verb.starts_with('-') && !known(verb)) {
    std::fprintf(stderr, "stepscope: there is no verb %s; stepscope --help lists them\n", argv[1]);
    return exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_done : exit_usage;
  }
  for (std::size_t i = 0; i < table.size(); ++i)
    if (app.got_subcommand(std::string(table[i].name))) return actions[i]();
  return exit_usage;
} catch (const std::bad_alloc&) {
  std::fputs(
      "stepscope: out of memory; give fewer ranks at once (--ranks) or a machine with more\n",
      stderr);
  return exit_failed;
} catch (const std::exception& error) {
  std::fprintf(stderr, "stepscope: %s\n", error.what());
  return exit_failed;
}

}  // namespace stepscope
