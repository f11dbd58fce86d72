// SPDX-License-Identifier: Apache-2.0
// `stepscope predict`: its flags, the request that they make, and where its result goes.
#include <memory>

#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/predict/collective_views.h"
#include "stepscope/verbs/predict/planned_program.h"
#include "stepscope/verbs/predict/predict.h"
#include "stepscope/verbs/predict/predict_collective.h"
#include "stepscope/verbs/predict/predict_flags.h"
#include "stepscope/verbs/predict/predict_json.h"
#include "stepscope/verbs/predict/predict_text.h"
#include "stepscope/verbs/sections/plan_words.h"

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

Result<Answer> answer_collective(const PredictFlags& flags) {
  const auto request = collective_request(flags);
  if (!request) return wrong_request(request.error());
  auto found = predict_collective(*request);
  if (!found) return found.error();
  const auto result = std::make_shared<const PredictCollectiveResult>(std::move(*found));
  return Answer{
      .tree = [result] { return collective_tree(*result); },
      .text = [result](const TextOptions& options) { return collective_text(*result, options); },
      .tables = collective_tables,
      .page = page_of_tree};
}

Result<Answer> answer(const PredictFlags& flags, const Progress& progress) {
  if (!flags.collective.empty()) return answer_collective(flags);
  const auto request = predict_request(flags);
  if (!request) return wrong_request(request.error());
  auto found = predict(*request, progress);
  if (!found) return found.error();
  const auto result = std::make_shared<const PredictResult>(std::move(*found));
  const Message lacks = words_of(shortage(result->cost.memory, result->machine));
  return Answer{
      .tree = [result] { return predict_tree(*result); },
      .text =
          [result, explained = !flags.explain.empty(),
           layers = flags.layers](const TextOptions& options) {
            return explained ? result->explained
                             : predict_text(*result, {.text = options, .layers = layers});
          },
      .tables = predict_tables,
      .page = page_of_tree,
      .write =
          [=](Failures& failures) { write_planned_program(flags, *request, *result, failures); },
      .lacking = lacks.empty()
                     ? std::nullopt
                     : std::optional(Error{.what = "the plan does not fit: " + say(lacks),
                                           .hint = "stepscope plan searches for one that does"})};
}

VerbRun declare_predict(CLI::App& app) { return declare_answering<PredictFlags>(app, answer); }

}  // namespace

extern const Verb predict_verb{"predict",
                               "Predict the step of a model, or a collective, on a machine",
                               "Plan ahead", "how-to/predict-a-step.md", declare_predict};

}  // namespace stepscope
