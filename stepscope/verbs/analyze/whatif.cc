// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/whatif.h"

#include <algorithm>
#include <array>
#include <utility>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/recording_words.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/fit/message_model.h"
#include "stepscope/say/say.h"

namespace stepscope {

namespace {

// The classes of compute: of kernels, or of operators where the rank has no device.
void add_classes(const Trace& trace, std::set<NameClass>& classes) {
  const Slices& s = trace.slices;
  const bool device = std::ranges::find(s.category, Category::kernel) != s.category.end();
  const Category row = device ? Category::kernel : Category::cpu_op;
  for (std::size_t i = 0; i < s.size(); ++i)
    if (s.category[i] == row) classes.insert(s.kind[i]);
}

RecordedNames names_in(std::span<const RankInput> ranks, const CollectiveMatches& matches) {
  RecordedNames names;
  for (const RankInput& r : ranks) {
    names.ranks.push_back(r.rank);
    add_classes(*r.trace, names.kernel_classes);
  }
  names.kernel_classes.erase(NameClass::communication);
  for (const RankCalls& calls : matches.ranks)
    for (const CollectiveCall& call : calls.calls) names.kinds.insert(call.kind);
  return names;
}

// The members that a table of names has.
template <class Member, std::size_t n>
std::vector<std::string> named(const std::set<Member>& members,
                               const std::array<std::string_view, n>& names) {
  std::vector<std::string> out;
  for (const Member m : members) out.emplace_back(names[static_cast<std::size_t>(m)]);
  return out;
}

// Replaces the answers to questions about what is not in the traces by the reason.
void refuse_unrecorded(std::span<const Scenario> asked, const RecordedNames& names,
                       std::vector<WhatIf>& answers) {
  for (std::size_t i = 0; i < asked.size() && i < answers.size(); ++i)
    if (Message why = why_not_recorded(asked[i], names); !why.empty())
      answers[i].refused = std::move(why);
}

}  // namespace

Message why_not_recorded(const Scenario& s, const RecordedNames& names) {
  if (s.rank && !std::ranges::binary_search(names.ranks, *s.rank))
    return msg::rank_not_in_traces(*s.rank, names.ranks);
  if (s.change == Change::rank_as_peers && names.ranks.size() == 1)
    return msg::rank_without_peer(*s.rank);
  if (s.kind && !names.kinds.contains(*s.kind))
    return msg::not_in_traces(collective_kind_names[static_cast<std::size_t>(*s.kind)],
                              "collective", named(names.kinds, collective_kind_names));
  if (s.kernel_class && !names.kernel_classes.contains(*s.kernel_class))
    return msg::not_in_traces(name_class_names[static_cast<std::size_t>(*s.kernel_class)],
                              "compute", named(names.kernel_classes, name_class_names));
  return {};
}

std::span<const WhatIf> shown_answers(const WhatIfResult& r) {
  const std::span<const WhatIf> all = r.asked ? r.explanation.asked : r.explanation.what_ifs;
  return r.asked ? all : all.first(std::min(all.size(), most_standing));
}

namespace {

Result<std::optional<Machine>> machine_in(const WhatIfRequest& r) {
  if (r.machine.empty()) return std::optional<Machine>();
  auto named = machine_named(r.machine);
  if (!named) return named.error();
  return std::optional(std::move(*named));
}

// What is read of a run.
struct ReadRanks {
  std::span<const RankInput> ranks{};
  std::size_t left_out = 0;
  std::vector<InputRow> inputs{};
  std::vector<Error> failures{};
};

JobOptions replay_options(const WhatIfRequest& r, const std::optional<Machine>& machine,
                          std::optional<int> world_size, const Progress& progress) {
  JobOptions options = job_options(r.traces, progress, world_size);
  options.scenarios = r.changes;
  if (machine) options.messages = message_model(*machine, options.world_size);
  return options;
}

Result<WhatIfResult> answer_of(const WhatIfRequest& r, JobResult job, ReadRanks read,
                               const Progress& progress) {
  std::vector<Error> failures = std::move(read.failures);
  if (const auto none = no_such_steps(r.traces, job)) {
    fail(progress, failures, *none);
    return *none;
  }
  withhold_unfounded(job);
  job.collectives.matches.left_out = read.left_out;
  WhatIfResult result{.version = std::string(version()),
                      .inputs = std::move(read.inputs),
                      .explanation = {},
                      .asked = !r.changes.empty(),
                      .warnings = replay_warnings(job),
                      .failures = std::move(failures)};
  const auto absent = not_in_traces(r.traces, job);
  if (absent) fail(progress, result.failures, *absent);
  if (!job.explanation && absent) return *absent;
  if (!job.explanation) {
    const Error nothing = no_whole_step(result.inputs, r.traces.inputs.front());
    fail(progress, result.failures, nothing);
    return nothing;
  }
  result.explanation = std::move(*job.explanation);
  if (result.asked)
    refuse_unrecorded(r.changes, names_in(read.ranks, job.collectives.matches),
                      result.explanation.asked);
  if (const Message cut = cut_sentence(result.inputs, job); !cut.empty())
    result.warnings.insert(result.warnings.begin(), msg::plain(say_stopped(cut)));
  if (const auto none = no_answer(job); none && !result.asked)
    fail(progress, result.failures,
         {.what = "the traces answer no what-if: " + say(none->reason),
          .file = r.traces.inputs.front(),
          .hint = say(none->remedy)});
  append(result.warnings, scenario_notes(shown_answers(result)));
  for (const WhatIf& w : shown_answers(result))
    if (!w.refused.empty())
      fail(progress, result.failures,
           {.what = "--change " + name_of(w.scenario) + " is not answered: " + say(w.refused),
            .hint = "stepscope whatif --list shows the changes"});
  return result;
}

}  // namespace

Result<WhatIfResult> whatif(const WhatIfRequest& r, const Progress& progress) {
  const auto machine = machine_in(r);
  if (!machine) return machine.error();
  if (r.traces.inputs.empty()) return Error{.what = "no trace is named", .hint = "name one"};
  auto analyzed = analyze_traces(r.traces, progress, [&](const ReadTraces& read) {
    return replay_options(r, *machine, read.run.world_size, progress);
  });
  if (!analyzed) return analyzed.error();
  ReadTraces& read = analyzed->read;
  if (read.ranks.empty()) return no_ranks(read.failures, r.traces.inputs.front());
  return answer_of(r, std::move(analyzed->job),
                   {.ranks = read.ranks,
                    .left_out = read.ranks_left_out,
                    .inputs = std::move(read.inputs),
                    .failures = std::move(read.failures)},
                   progress);
}

Result<WhatIfResult> whatif(const WhatIfRequest& r, const AnalyzeResult& analyzed,
                            const Progress& progress) {
  const auto machine = machine_in(r);
  if (!machine) return machine.error();
  if (analyzed.ranks.empty())
    return Error{.what = "the analysis has no ranks, so nothing can be replayed",
                 .hint = "analyze the traces of a run"};
  JobResult job =
      analyze_job(analyzed.ranks, replay_options(r, *machine, analyzed.run.world_size, progress));
  if (job.interrupted) return interrupted();
  return answer_of(r, std::move(job),
                   {.ranks = analyzed.ranks,
                    .left_out = analyzed.run.ranks.size() - analyzed.ranks.size(),
                    .inputs = analyzed.analysis.inputs},
                   progress);
}

}  // namespace stepscope
