// SPDX-License-Identifier: Apache-2.0
// `stepscope memory`: what holds a GPU's memory, from PyTorch's memory snapshots.
#include "stepscope/pipeline/memory.h"

#include <memory>

#include "stepscope/cli/help/flag_values.h"
#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/json/memory_json.h"
#include "stepscope/report/terminal/memory_text.h"

namespace stepscope {
namespace {

struct MemoryFlags {
  MemoryRequest request;
  std::size_t top = 10;
  OutputPaths out;
};

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

int answer(const MemoryFlags& flags) {
  Failures failures;
  const auto result = memory(flags.request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (flags.out.prints())
    print_text(memory_text(*result, {.text = text_options(), .top = flags.top}));
  if (flags.out.has_tree()) write_tree(flags.out, memory_tree_json(*result), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_memory(CLI::App& app) {
  auto flags = std::make_shared<MemoryFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
