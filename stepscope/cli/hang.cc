// SPDX-License-Identifier: Apache-2.0
// `stepscope hang`: why a job stands still, from flight recorders, NCCL's logs and watchdogs.
#include "stepscope/pipeline/hang.h"

#include <memory>

#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/json/hang_json.h"
#include "stepscope/report/terminal/hang_text.h"

namespace stepscope {
namespace {

struct HangFlags {
  HangRequest request;
  OutputPaths out;
};

void declare(CLI::App& app, HangFlags& f) {
  app.description(
      "Finds why a job stands still: which collective hangs, which ranks did not come, and what "
      "they did instead.");
  app.add_option("FILES", f.request.files,
                 "Dumps of PyTorch's flight recorder (pickle or JSON), logs with NCCL_DEBUG lines, "
                 "logs with messages of the watchdog, of one rank or several; or directories")
      ->required()
      ->type_name("PATH");
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  mark_common(app, {"--json", "--html"});
  app.footer("stepscope hang nccl_trace_rank_* train.log --html hang.html");
}

int answer(const HangFlags& flags) {
  Failures failures;
  const auto result = hang(flags.request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (flags.out.prints()) print_text(hang_text(*result, text_options(flags.out.html)));
  if (flags.out.has_tree()) write_tree(flags.out, hang_tree(*result), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_hang(CLI::App& app) {
  auto flags = std::make_shared<HangFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
