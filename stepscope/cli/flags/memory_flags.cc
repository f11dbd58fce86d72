// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/flags/memory_flags.h"

#include "stepscope/cli/help/flag_values.h"
#include "stepscope/cli/help/flag_view.h"

namespace stepscope {

void declare(CLI::App& app, MemoryFlags& f) {
  app.description(
      "Shows what holds a GPU's memory: by place in the code, at the peak and over time, and how "
      "much lies idle in the allocator.");
  app.add_option("SNAPSHOT", f.request.snapshots,
                 "Snapshots of PyTorch's allocator, of one rank or several: pickles of "
                 "torch.cuda.memory._dump_snapshot, JSON, or pages of torch.cuda._memory_viz; or "
                 "directories")
      ->required()
      ->type_name("PATH");
  as_count(app.add_option("--top", f.top, "Places that the terminal lists"), 1, 100000)
      ->group("Outputs");
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  mark_common(app, {"--top", "--json", "--html"});
  app.footer("stepscope memory snapshot.pickle --html memory.html");
}

}  // namespace stepscope
