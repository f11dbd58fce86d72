// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_flags.h"

#include <limits>
#include <vector>

#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/stack/instruction_table.h"
#include "stepscope/stack/read_profile.h"

namespace stepscope {
namespace {

std::string own_tables() {
  std::string names;
  for (const std::string_view name : instruction_table_names())
    names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

void declare_trace(CLI::App& app, StacksFlags& f) {
  const char* group = "With a trace";
  app.add_option("--trace", f.traces.request.inputs,
                 "Traces of the same run, which show the device's work in each phase of the host")
      ->type_name("PATH")
      ->group(group);
  as_count(app.add_option("--rank", f.request.ranks,
                          "Rank that was profiled, where the traces have several. One for each "
                          "profile, in their order, or one for all."),
           0, std::numeric_limits<int>::max())
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  app.add_option("--offset", f.offset,
                 "Time to add to the profile's clock to get the trace's, as -0.25s or 12.5ms")
      ->type_name("TIME")
      ->group(group);
  app.add_flag(
         "--gapless", f.request.gapless,
         "Take a sample's place as an instant: no sample of a thread is missing (py-spy record "
         "--idle)")
      ->group(group);
  declare_steps(app, f.traces.steps, group);
  declare_step_annotation(app, f.traces.request.step_annotation, group);
  declare_kernel_rules(app, f.traces.request.kernel_rules, group);
}

}  // namespace

void declare(CLI::App& app, StacksFlags& f) {
  const char* inputs = "Inputs";
  const char* trees = "Trees";
  app.description(
      "Shows what the host does: how much of its time each phase of training takes, from stacks "
      "that a sampling profiler recorded.");
  app.add_option("PROFILE", f.request.profiles,
                 "Collapsed stacks, perf script, py-spy, speedscope, pprof; compressed or not")
      ->required()
      ->type_name("PATH");
  as_choice(app.add_option("--format", f.request.format,
                           "Format of the profiles, where it is not recognised"),
            std::vector<std::string>(profile_format_names().begin(), profile_format_names().end()))
      ->group(inputs);
  app.add_option("--against", f.request.against, "Earlier profile to compare with")
      ->type_name("FILE")
      ->group(inputs);
  app.add_option("--rules", f.request.rules, "Phases of your own, before the built-in ones")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(inputs);
  app.add_option(
         "--lasti", f.request.lasti,
         "Table of CPython instructions, for source lines of frames like fetch [0x36a]: a file, "
         "or one of the program's own (" +
             own_tables() + "); one table for each package")
      ->type_name("TABLE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(inputs);
  app.add_flag("--top-down", f.top_down, "Show the call tree, callers above callees")->group(trees);
  app.add_flag("--bottom-up", f.bottom_up, "Show the call tree, callees above callers")
      ->group(trees);
  as_share(app.add_option("--min-share,--min-percent", f.least, "Smallest part that a tree shows"),
           0, 1, 0.01)
      ->group(trees);
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  declare_csv(app, f.out.csv);
  declare_trace(app, f);
  mark_common(app,
              {"--against", "--top-down", "--bottom-up", "--json", "--html", "--csv", "--trace"});
  app.footer(
      "stepscope stacks rank0.collapsed --html stacks.html\n"
      "stepscope stacks rank0.txt --trace traces/ --rank 0");
}

Result<StacksRequest> stacks_request(const StacksFlags& f) {
  StacksRequest request = f.request;
  if (f.traces.request.inputs.empty()) {
    const char* alone = !request.ranks.empty()                      ? "--rank"
                        : !f.offset.empty()                         ? "--offset"
                        : request.gapless                           ? "--gapless"
                        : !f.traces.steps.empty()                   ? "--steps"
                        : !f.traces.request.step_annotation.empty() ? "--step-annotation"
                        : !f.traces.request.kernel_rules.empty()    ? "--kernel-rules"
                                                                    : nullptr;
    if (alone == nullptr) return request;
    return Error{.what = std::string(alone) + " says nothing without a trace",
                 .hint = "give --trace TRACES"};
  }
  if (!f.offset.empty()) {
    request.offset = parse_duration(f.offset);
    if (!request.offset) request.offset = parse_duration(f.offset + 's');  // seconds
    if (!request.offset)
      return Error{.what = "--offset " + f.offset + " is no time",
                   .hint = "write 12.5s, -250ms or 1700000000.123456789s"};
  }
  auto traces = traces_request(f.traces);
  if (!traces) return traces.error();
  request.traces = std::move(*traces);
  return request;
}

}  // namespace stepscope
