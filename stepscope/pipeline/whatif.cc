// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/whatif.h"

#include <algorithm>
#include <utility>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/fit/message_model.h"
#include "stepscope/pipeline/version.h"

namespace stepscope {

std::span<const WhatIf> shown_answers(const WhatIfResult& r) {
  const std::span<const WhatIf> all = r.asked ? r.explanation.asked : r.explanation.what_ifs;
  return r.asked ? all : all.first(std::min(all.size(), most_standing));
}

Result<WhatIfResult> whatif(const WhatIfRequest& r, const Progress& progress) {
  std::optional<Machine> machine;
  if (!r.machine.empty()) {
    auto named = machine_named(r.machine);
    if (!named) return named.error();
    machine = std::move(*named);
  }
  auto read = read_traces(r.traces, progress);
  if (!read) return read.error();
  if (read->ranks.empty())
    return read->failures.empty() ? Error{.what = "the inputs hold no trace"}
                                  : read->failures.front();
  JobOptions options = job_options(r.traces, progress, read->run.world_size);
  options.scenarios = r.changes;
  if (machine) options.messages = message_model(*machine, options.world_size);
  JobResult job = analyze_job(read->ranks, options);
  if (job.interrupted) return interrupted();
  WhatIfResult result{.version = std::string(version()),
                      .inputs = std::move(read->inputs),
                      .explanation = {},
                      .asked = !r.changes.empty(),
                      .warnings = {},
                      .failures = std::move(read->failures)};
  if (auto none = no_such_steps(r.traces, job)) fail(progress, result.failures, std::move(*none));
  if (!job.explanation) {
    const Error nothing{.what = "the traces hold no step to replay",
                        .hint = "record whole steps, with host rows and kernels"};
    fail(progress, result.failures, nothing);
    return nothing;
  }
  result.explanation = std::move(*job.explanation);
  const Explanation& e = result.explanation;
  result.warnings = replay_warnings(e);
  for (std::string& note : scenario_notes(shown_answers(result)))
    result.warnings.push_back(std::move(note));
  for (const WhatIf& w : shown_answers(result))
    if (!w.refused.empty())
      fail(progress, result.failures,
           {.what = name_of(w.scenario) + " is not answered: " + w.refused});
  return result;
}

}  // namespace stepscope
