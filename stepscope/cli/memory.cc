// SPDX-License-Identifier: Apache-2.0
// `stepscope memory`: what holds a GPU's memory, from PyTorch's memory snapshots.
#include "stepscope/pipeline/memory.h"

#include <memory>

#include "stepscope/cli/flags/memory_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/json/memory_json.h"
#include "stepscope/report/terminal/memory_text.h"

namespace stepscope {
namespace {

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
