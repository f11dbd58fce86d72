// SPDX-License-Identifier: Apache-2.0
// `stepscope hang`: why a job stands still, from flight recorders, NCCL's logs and watchdogs.
#include "stepscope/cli/hang.h"

#include <fmt/format.h>

#include <memory>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/read/nccl/comm_files.h"
#include "stepscope/report/hang_report.h"
#include "stepscope/report/json_report.h"

namespace stepscope {
namespace {

struct HangFlags {
  std::vector<std::string> files;
  std::string json;
};

void declare(CLI::App& app, HangFlags& f) {
  app.add_option(
         "FILES", f.files,
         "Dumps of PyTorch's flight recorder (pickle or JSON), logs with NCCL_DEBUG lines, "
         "logs with messages of the watchdog; of as many ranks as there are, or directories")
      ->required();
  app.add_option("--json", f.json,
                 "Write everything as JSON (docs/reference/json.md); - for standard output")
      ->type_name("FILE");
  app.footer("Example: stepscope hang nccl_trace_rank_* train.log");
}

int hang(const HangFlags& flags) {
  const StopFlag& stop = stop_on_signals();
  CommFiles files = read_comm_files(flags.files, &stop);
  if (stop.requested()) return exit_interrupted;
  Failures failures;
  for (const Error& error : files.errors) failures.add(error);
  if (files.records.inputs.empty()) return exit_failed;
  const HangResult result = find_hang(files.records);
  HangReport report{.version = STEPSCOPE_VERSION, .records = &files.records, .result = &result};
  report.warnings = hang_warnings(files.records, result);
  report.warnings.insert(report.warnings.end(), files.remarks.begin(), files.remarks.end());
  if (flags.json != "-")
    fmt::print("{}", hang_text(report, {.width = terminal_width(), .colour = wants_colour()}));
  if (!flags.json.empty()) write_json_text(flags.json, json_text(hang_tree(report)), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_hang(CLI::App& app) {
  auto flags = std::make_shared<HangFlags>();
  declare(app, *flags);
  return [flags] { return hang(*flags); };
}

}  // namespace stepscope
