// SPDX-License-Identifier: Apache-2.0
// `stepscope hang`: its flags, the request that they make, and where its result goes.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/verbs/hang/hang.h"
#include "stepscope/verbs/hang/hang_views.h"

namespace stepscope {

namespace {

struct HangFlags {
  HangRequest request;
  OutputPaths out;
};

void declare(CLI::App& app, HangFlags& f) {
  app.description(
      "Finds why a job stands still or ended: which collective hangs, which ranks did not come, "
      "what they did instead, and which error came first.");
  app.add_option(
         "FILES", f.request.files,
         "What the job left: dumps of PyTorch's flight recorder, output of ranks and "
         "launchers, NCCL_DEBUG lines, NCCL's RAS status, py-spy dumps, kernel messages; or "
         "directories")
      ->required()
      ->type_name("PATH");
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  mark_common(app, {"--json", "--html"});
  app.footer("stepscope hang nccl_trace_rank_* train.log --html hang.html");
}

Result<Answer> answer(const HangFlags& flags, const Progress& progress) {
  return answer_to(Result(flags.request), hang, progress, hang_tree, hang_text,
                   {.page = page_of_tree});
}

VerbRun declare_hang(CLI::App& app) { return declare_answering<HangFlags>(app, answer); }

}  // namespace

extern const Verb hang_verb{"hang", "Find why a job stands still, from all that it left",
                            "Understand a run", "how-to/diagnose-a-hang.md", declare_hang};

}  // namespace stepscope
