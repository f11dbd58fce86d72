// SPDX-License-Identifier: Apache-2.0
// `stepscope stacks`: its flags, the request that they make, and where its result goes.
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/verbs/stacks/stacks.h"
#include "stepscope/verbs/stacks/stacks_flags.h"
#include "stepscope/verbs/stacks/stacks_json.h"
#include "stepscope/verbs/stacks/stacks_text.h"

namespace stepscope {

namespace {

Result<Answer> answer(const StacksFlags& flags, const Progress& progress) {
  const auto text = [top_down = flags.top_down, bottom_up = flags.bottom_up, least = flags.least](
                        const StacksResult& result, const TextOptions& options) {
    return stacks_text(
        result, {.text = options, .top_down = top_down, .bottom_up = bottom_up, .least = least});
  };
  return answer_to(stacks_request(flags), stacks, progress, stacks_tree, text,
                   {.tables = stacks_tables, .page = page_of_tree});
}

VerbRun declare_stacks(CLI::App& app) { return declare_answering<StacksFlags>(app, answer); }

}  // namespace

extern const Verb stacks_verb{"stacks",
                              "Show what the host does in each phase, from sampled stacks",
                              "Understand a run", "how-to/read-stacks.md", declare_stacks};

}  // namespace stepscope
