// SPDX-License-Identifier: Apache-2.0
// `stepscope predict`: what a model, or a collective, should reach on a machine.
#include "stepscope/pipeline/predict.h"

#include <memory>

#include "stepscope/cli/flags/predict_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/pipeline/predict_collective.h"
#include "stepscope/pipeline/programs/planned_program.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/collective_json.h"
#include "stepscope/report/json/predict_json.h"
#include "stepscope/report/sentences/plan_words.h"
#include "stepscope/report/terminal/collective_text.h"
#include "stepscope/report/terminal/predict_text.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

// --chakra and --goal: the step of the plan for simulators.
void write_planned_program(const PredictFlags& flags, const PredictRequest& request,
                           const PredictResult& result, Failures& failures) {
  if (flags.chakra.empty() && flags.goal.empty()) return;
  const auto network = make_network(result.machine, {.domain = domain_of(request.plan)});
  if (!network) return failures.add(network.error());
  auto program = planned_program(result.model, result.machine, *network, result.plan);
  if (!program) return failures.add(program.error());
  write_programs({.chakra = flags.chakra, .goal = flags.goal}, std::move(*program), failures);
}

int answer(const PredictFlags& flags) {
  const auto request = predict_request(flags);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = predict(*request, progress_of(failures));
  if (!result) return refused(result.error());
  if (flags.out.prints())
    print_text(!flags.explain.empty() ? result->explained
                                      : predict_text(*result, {.text = text_options(flags.out.html),
                                                               .layers = flags.layers}));
  if (flags.out.has_tree() || !flags.out.csv.empty()) {
    const Json tree = predict_tree(*result);
    if (flags.out.has_tree()) write_tree(flags.out, tree, failures);
    if (!flags.out.csv.empty()) write_tables(flags.out.csv, predict_tables(tree), failures);
  }
  write_planned_program(flags, *request, *result, failures);
  flush_output(failures);
  const Message lacks = words_of(shortage(result->cost.memory, result->machine));
  if (!lacks.empty())
    failures.add({.what = "the plan does not fit: " + say(lacks),
                  .hint = "stepscope plan searches for one that does"});
  return failures.any() ? exit_failed : exit_done;
}

int answer_collective(const PredictFlags& flags) {
  const auto request = collective_request(flags);
  if (!request) return refused(request.error());
  const auto result = predict_collective(*request);
  if (!result) return refused(result.error());
  Failures failures;
  if (flags.out.prints()) print_text(collective_text(*result, {.width = terminal_width()}));
  const Json tree = collective_tree(*result);
  if (flags.out.has_tree()) write_tree(flags.out, tree, failures);
  if (!flags.out.csv.empty()) write_tables(flags.out.csv, collective_tables(tree), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_predict(CLI::App& app) {
  auto flags = std::make_shared<PredictFlags>();
  declare(app, *flags);
  return [flags] { return flags->collective.empty() ? answer(*flags) : answer_collective(*flags); };
}

}  // namespace stepscope
