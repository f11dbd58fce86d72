// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/flags/digest_flags.h"

#include "stepscope/cli/flags/traces_flags.h"
#include "stepscope/cli/help/flag_view.h"

namespace stepscope {

void declare(CLI::App& app, DigestFlags& f) {
  app.description(
      "Writes a small file for each trace, about a hundredth of the JSON of a large one, that "
      "analyze, whatif, "
      "compare and check read in place of the trace, with the same answers. Each file can be made "
      "where its trace lies; a digest that is there is kept while its trace does not change.");
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

}  // namespace stepscope
