// SPDX-License-Identifier: Apache-2.0
// `stepscope digest`: its flags, the request that they make, and where its result goes.
#include <CLI/CLI.hpp>

#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/verbs/digest/digest.h"
#include "stepscope/verbs/digest/digest_views.h"
#include "stepscope/verbs/inputs/traces_flags.h"

namespace stepscope {

namespace {

struct DigestFlags {
  DigestRequest request;
  OutputPaths out;
};

void declare(CLI::App& app, DigestFlags& f) {
  app.description(
      "Writes a small file for each trace, about a hundredth of the JSON of a large one. analyze, "
      "whatif, compare and check read it in place of the trace, with the same answers. Each file "
      "can be made where its trace lies; a digest that is there is kept while its trace does not "
      "change.");
  app.add_option("TRACE", f.request.inputs, "Traces: files, directories, patterns or URLs")
      ->required()
      ->type_name("PATH");
  app.add_option("-o,--out", f.request.folder, "Folder of the digests; it is made")
      ->required()
      ->type_name("DIR")
      ->group("Outputs");
  declare_json(app, f.out.json);
  declare_threads(app, f.request.threads, "Reading");
  mark_common(app, {"--out", "--json", "--threads"});
  app.footer(
      "stepscope digest traces/ --out digests\n"
      "stepscope analyze digests");
}

Result<Answer> answer(const DigestFlags& flags, const Progress& progress) {
  return answer_to(Result(flags.request), digest, progress, digest_tree, digest_text);
}

VerbRun declare_digest(CLI::App& app) { return declare_answering<DigestFlags>(app, answer); }

}  // namespace

extern const Verb digest_verb{"digest", "Write small files that stand for the traces of many ranks",
                              "Understand a run", "how-to/analyze-many-ranks.md", declare_digest};

}  // namespace stepscope
