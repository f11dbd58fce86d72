// SPDX-License-Identifier: Apache-2.0
// `stepscope predict --collective`: one collective over a range of sizes.
#include <fmt/format.h>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/predict.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/report/collective_report.h"
#include "stepscope/report/json_report.h"

namespace stepscope {
namespace {

Result<CollectiveReport> report_of(const PredictFlags& flags) {
  const auto question = collective_question(flags);
  if (!question) return question.error();
  if (!flags.source.model.empty() || !flags.html.empty())
    return Error{.what = "--collective takes no model and makes no page",
                 .hint = "leave MODEL and --html out"};
  if (flags.source.machine.empty())
    return Error{.what = "the machine is missing", .hint = "give --machine NAME or FILE"};
  const auto machine = machine_named(flags.source.machine);
  if (!machine) return machine.error();
  const auto network = make_network(*machine, {.domain = domain_of(flags.source)});
  if (!network) return network.error();
  const auto group = place(flags.group, 1, *network);
  if (!group)
    return Error{.what = fmt::format("{} devices do not fit the {} of one domain of {}, and no "
                                     "network beyond it is known",
                                     flags.group, network->domain, machine->name),
                 .hint = "give a smaller --group, or a machine file with scale_out"};
  auto sweep = sweep_collective(*network, question->kind, *group, question->range);
  if (!sweep) return sweep.error();
  return CollectiveReport{.version = STEPSCOPE_VERSION,
                          .machine = machine->name,
                          .sweep = std::move(*sweep),
                          .warnings = network->assumptions};
}

}  // namespace

int predict_collective(const PredictFlags& flags) {
  const auto report = report_of(flags);
  if (!report) return refused(report.error());
  Failures failures;
  if (flags.json != "-") print_text(collective_text(*report, {.width = terminal_width()}));
  if (!flags.json.empty())
    write_json_text(flags.json, json_text(collective_tree(*report)), failures);
  if (!flags.csv.empty()) {
    const CsvFile file = collective_csv(*report);
    write_tables(flags.csv, std::span(&file, 1), failures);
  }
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace stepscope
