// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/flags/hang_flags.h"

#include "stepscope/cli/help/flag_view.h"

namespace stepscope {

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

}  // namespace stepscope
