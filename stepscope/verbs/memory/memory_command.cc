// SPDX-License-Identifier: Apache-2.0
// `stepscope memory`: its flags, the request that they make, and where its result goes.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/verbs/memory/memory.h"
#include "stepscope/verbs/memory/memory_views.h"

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
      "much lies idle in the allocator. Of an out-of-memory message it says why there was no "
      "room.");
  app.add_option("SNAPSHOT", f.request.snapshots,
                 "Snapshots of PyTorch's allocator, of one rank or several: pickles of "
                 "torch.cuda.memory._dump_snapshot, JSON, or pages of torch.cuda._memory_viz; logs "
                 "with out-of-memory messages or printed totals of the allocator "
                 "(memory_summary(), see_memory_usage(), Memory Profile); or directories")
      ->required()
      ->type_name("PATH");
  as_count(app.add_option("--top", f.top, "Places that the terminal lists"), 1, 100000)
      ->group("Outputs");
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  mark_common(app, {"--top", "--json", "--html"});
  app.footer("stepscope memory snapshot.pickle --html memory.html");
}

Result<Answer> answer(const MemoryFlags& flags, const Progress& progress) {
  const auto text = [top = flags.top](const MemoryResult& result, const TextOptions& options) {
    return memory_text(result, {.text = options, .top = top});
  };
  return answer_to(Result(flags.request), memory, progress, memory_tree_json, text,
                   {.page = page_of_tree});
}

VerbRun declare_memory(CLI::App& app) { return declare_answering<MemoryFlags>(app, answer); }

}  // namespace

extern const Verb memory_verb{"memory", "Show what holds a GPU's memory, from PyTorch's snapshots",
                              "Understand a run", "how-to/find-what-holds-memory.md",
                              declare_memory};

}  // namespace stepscope
