// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/verbs.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <mutex>

#include "stepscope/binding/answer.h"
#include "stepscope/binding/run_verb.h"
#include "stepscope/cli/flags/analyze_flags.h"
#include "stepscope/cli/flags/check_flags.h"
#include "stepscope/cli/flags/compare_flags.h"
#include "stepscope/cli/flags/digest_flags.h"
#include "stepscope/cli/flags/hang_flags.h"
#include "stepscope/cli/flags/live_flags.h"
#include "stepscope/cli/flags/memory_flags.h"
#include "stepscope/cli/flags/plan_search_flags.h"
#include "stepscope/cli/flags/predict_flags.h"
#include "stepscope/cli/flags/project_flags.h"
#include "stepscope/cli/flags/runs_flags.h"
#include "stepscope/cli/flags/stacks_flags.h"
#include "stepscope/cli/flags/sweep_flags.h"
#include "stepscope/cli/flags/whatif_flags.h"
#include "stepscope/report/digest/digest_json.h"
#include "stepscope/report/digest/digest_text.h"
#include "stepscope/report/history/runs_json.h"
#include "stepscope/report/history/runs_text.h"
#include "stepscope/report/json/analyze_json.h"
#include "stepscope/report/json/brief_json.h"
#include "stepscope/report/json/check_json.h"
#include "stepscope/report/json/collective_json.h"
#include "stepscope/report/json/compare_json.h"
#include "stepscope/report/json/hang_json.h"
#include "stepscope/report/json/memory_json.h"
#include "stepscope/report/json/plan_result_json.h"
#include "stepscope/report/json/predict_json.h"
#include "stepscope/report/json/stacks_json.h"
#include "stepscope/report/json/whatif_json.h"
#include "stepscope/report/live/live_json.h"
#include "stepscope/report/live/live_text.h"
#include "stepscope/report/page/html.h"
#include "stepscope/report/projection/project_json.h"
#include "stepscope/report/projection/project_text.h"
#include "stepscope/report/terminal/analyze_text.h"
#include "stepscope/report/terminal/check_text.h"
#include "stepscope/report/terminal/collective_text.h"
#include "stepscope/report/terminal/compare_text.h"
#include "stepscope/report/terminal/explanation_text.h"
#include "stepscope/report/terminal/hang_text.h"
#include "stepscope/report/terminal/memory_text.h"
#include "stepscope/report/terminal/plan_text.h"
#include "stepscope/report/terminal/predict_text.h"
#include "stepscope/report/terminal/stacks_text.h"

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

using Arguments = std::vector<std::string>;

Error usage(Error error) {
  error.code = ErrorCode::refused;
  return error;
}

// The arguments in the flags of a verb.
template <class Flags>
void parse(const Arguments& arguments, Flags& flags) {
  CLI::App app;
  declare(app, flags);
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    raise(usage({.what = error.what()}));
  }
}

// The value of a request, whose error is wrong usage unless it names a file.
template <class T>
T understood(Result<T> request) {
  if (request) return std::move(*request);
  raise(request.error().file.empty() ? usage(request.error()) : request.error());
}

template <class T>
std::shared_ptr<T> shared(T value) {
  return std::make_shared<T>(std::move(value));
}

std::string page_of(const Json& tree) { return render_html(json_text(tree)); }

Answer answer_of(const std::shared_ptr<const WhatIfResult>& result) {
  return {.tree = [result] { return whatif_tree(*result); },
          .text =
              [result](const TextOptions& options) {
                return whatif_text(*result, static_cast<std::size_t>(options.width));
              },
          .tables = whatif_tables,
          .failures = result->failures};
}

Answer analyze_answer(const Arguments& arguments) {
  AnalyzeFlags flags;
  parse(arguments, flags);
  const auto request = shared(understood(analyze_request(flags)));
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return analyze(*request, {.stop = &stop}); }));
  if (result->analysis.job.ranks.empty() && !result->failures.empty())
    raise(result->failures.front());
  const auto alone = std::make_shared<std::mutex>();  // for what uses the traces again
  return {
      .tree = [result] { return analyze_tree(result->analysis); },
      .brief = [result] { return brief_tree(result->analysis); },
      .text =
          [result](const TextOptions& options) { return analyze_text(result->analysis, options); },
      .tables = analyze_tables,
      .page =
          [request, result, alone](Json tree) {
            const std::lock_guard lock(*alone);
            add_timeline(*request, *result);
            return render_html(analyze_page_json(std::move(tree), result->analysis.job));
          },
      .whatif =
          [request, result, alone](const Arguments& changes, const std::string& machine) {
            WhatIfRequest asked{.traces = request->traces, .machine = machine, .changes = {}};
            for (const std::string& text : changes)
              asked.changes.push_back(understood(parse_scenario(text)));
            return answer_of(shared(run_verb([&](const StopFlag& stop) {
              const std::lock_guard lock(*alone);
              return whatif(asked, *result, {.stop = &stop});
            })));
          },
      .failures = result->failures};
}

Answer whatif_answer(const Arguments& arguments) {
  WhatIfFlags flags;
  parse(arguments, flags);
  const auto request = understood(whatif_request(flags));
  return answer_of(
      shared(run_verb([&](const StopFlag& stop) { return whatif(request, {.stop = &stop}); })));
}

Answer project_answer(const Arguments& arguments) {
  ProjectFlags flags;
  parse(arguments, flags);
  const auto request = understood(project_request(flags));
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return project(request, {.stop = &stop}); }));
  return {.tree = [result] { return project_tree(*result); },
          .brief = [result] { return project_brief_tree(*result); },
          .text = [result](const TextOptions& options) { return project_text(*result, options); },
          .tables = project_tables,
          .failures = result->failures};
}

Answer compare_answer(const Arguments& arguments) {
  CompareFlags flags;
  parse(arguments, flags);
  const auto request = understood(compare_request(flags));
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return compare(request, {.stop = &stop}); }));
  return {.tree = [result] { return compare_tree(*result); },
          .text = [result](const TextOptions& options) { return compare_text(*result, options); },
          .tables = compare_tables,
          .page = page_of,
          .failures = result->failures};
}

Answer sweep_answer(const Arguments& arguments) {
  SweepFlags flags;
  parse(arguments, flags);
  const auto request = understood(sweep_request(flags));
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return sweep(request, {.stop = &stop}); }));
  return {.tree = [result] { return sweep_tree(*result); },
          .text = [result](const TextOptions& options) { return sweep_text(*result, options); },
          .tables = sweep_tables,
          .page = page_of};
}

Answer restored_answer(const RunsFlags& flags) {
  const auto request = understood(restore_request(flags));
  const auto result = shared(run_verb([&](const StopFlag&) { return restore_run(request); }));
  return {.tree = [result] { return restored_tree(*result); },
          .text = [result](const TextOptions&) { return restored_text(*result); }};
}

Answer runs_answer(const Arguments& arguments) {
  RunsFlags flags;
  parse(arguments, flags);
  if (!flags.restore.empty()) return restored_answer(flags);
  const auto request = understood(runs_request(flags));
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return runs(request, {.stop = &stop}); }));
  return {.tree = [result] { return runs_tree(*result); },
          .text = [result](const TextOptions& options) { return runs_text(*result, options); },
          .failures = result->failures};
}

Answer check_answer(const Arguments& arguments) {
  CheckFlags flags;
  parse(arguments, flags);
  const auto request = understood(check_request(flags));
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return check(request, {.stop = &stop}); }));
  return {.tree = [result] { return check_tree(*result); },
          .text = [result](const TextOptions& options) { return check_text(*result, options); },
          .page = page_of,
          .failures = result->failures};
}

Answer hang_answer(const Arguments& arguments) {
  HangFlags flags;
  parse(arguments, flags);
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return hang(flags.request, {.stop = &stop}); }));
  return {.tree = [result] { return hang_tree(*result); },
          .text = [result](const TextOptions& options) { return hang_text(*result, options); },
          .page = page_of,
          .failures = result->failures};
}

constexpr std::size_t live_lines = 60;  // as `stepscope live --once`

LiveFollower live_follower(const Arguments& arguments) {
  LiveFlags flags;
  parse(arguments, flags);
  return understood(LiveFollower::open(flags.request));
}

Answer live_once(const Arguments& arguments) {
  struct Reading {
    LiveFollower follower;
    std::optional<LiveView> view{};
    std::vector<Error> failures{};
  };
  const auto reading = shared(Reading{.follower = live_follower(arguments)});
  const auto failed = [&](const Error& e) { reading->failures.push_back(e); };
  reading->view.emplace(run_verb([&](const StopFlag& stop) {
    return reading->follower.read(true, {.failed = failed, .stop = &stop});
  }));
  return {.tree = [reading] { return live_tree(*reading->view); },
          .text =
              [reading](const TextOptions& options) {
                return live_text(*reading->view, options, live_lines);
              },
          .failures = reading->failures};
}

// A job that Python follows: next() waits for an interval, except the first time.
class PythonFollower {
 public:
  explicit PythonFollower(const Arguments& arguments) : follower_(live_follower(arguments)) {}

  // Tree and text are made here: the job goes on.
  Answer next() {
    std::vector<Error> failures;
    const auto failed = [&](const Error& e) { failures.push_back(e); };
    const auto made =
        shared(run_verb([&](const StopFlag& stop) -> Result<std::pair<Json, std::string>> {
          const Progress progress{.failed = failed, .stop = &stop};
          if (std::exchange(begun_, true)) follower_.wait(progress);
          const auto view = follower_.read(false, progress);
          if (!view) return view.error();
          return std::pair(live_tree(*view), live_text(*view, {}, live_lines));
        }));
    return {.tree = [made] { return made->first; },
            .text = [made](const TextOptions&) { return made->second; },
            .failures = std::move(failures)};
  }

 private:
  LiveFollower follower_;
  bool begun_ = false;
};

Answer digest_answer(const Arguments& arguments) {
  DigestFlags flags;
  parse(arguments, flags);
  const auto result = shared(
      run_verb([&](const StopFlag& stop) { return digest(flags.request, {.stop = &stop}); }));
  return {.tree = [result] { return digest_tree(*result); },
          .text = [result](const TextOptions& options) { return digest_text(*result, options); },
          .failures = result->failures};
}

Answer memory_answer(const Arguments& arguments) {
  MemoryFlags flags;
  parse(arguments, flags);
  const auto result = shared(
      run_verb([&](const StopFlag& stop) { return memory(flags.request, {.stop = &stop}); }));
  return {.tree = [result] { return memory_tree_json(*result); },
          .text =
              [result, top = flags.top](const TextOptions& options) {
                return memory_text(*result, {.text = options, .top = top});
              },
          .page = page_of,
          .failures = result->failures};
}

Answer stacks_answer(const Arguments& arguments) {
  StacksFlags flags;
  parse(arguments, flags);
  const auto request = understood(stacks_request(flags));
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return stacks(request, {.stop = &stop}); }));
  return {
      .tree = [result] { return stacks_tree(*result); },
      .text =
          [result, top_down = flags.top_down, bottom_up = flags.bottom_up,
           least = flags.least](const TextOptions& options) {
            return stacks_text(
                *result,
                {.text = options, .top_down = top_down, .bottom_up = bottom_up, .least = least});
          },
      .tables = stacks_tables,
      .page = page_of,
      .failures = result->failures};
}

Answer collective_answer(const PredictFlags& flags) {
  const auto request = understood(collective_request(flags));
  const auto result =
      shared(run_verb([&](const StopFlag&) { return predict_collective(request); }));
  return {
      .tree = [result] { return collective_tree(*result); },
      .text = [result](const TextOptions& options) { return collective_text(*result, options); },
      .tables = collective_tables};
}

Answer predict_answer(const Arguments& arguments) {
  PredictFlags flags;
  parse(arguments, flags);
  if (!flags.collective.empty()) return collective_answer(flags);
  const auto request = understood(predict_request(flags));
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return predict(request, {.stop = &stop}); }));
  return {.tree = [result] { return predict_tree(*result); },
          .text =
              [result, explained = !flags.explain.empty(),
               layers = flags.layers](const TextOptions& options) {
                return explained ? result->explained
                                 : predict_text(*result, {.text = options, .layers = layers});
              },
          .tables = predict_tables,
          .page = page_of};
}

// A search that Ctrl-C stops has what it found until then; in Python it raises.
Answer plan_answer(const Arguments& arguments) {
  PlanFlags flags;
  parse(arguments, flags);
  const auto request = understood(plan_request(flags));
  const auto result =
      shared(run_verb([&](const StopFlag& stop) { return plan(request, {.stop = &stop}); }));
  return {.tree = [result] { return plan_tree(*result); },
          .text =
              [result, framework = framework_name(flags)](const TextOptions& options) {
                return plan_text(*result, {.text = options, .framework = framework});
              },
          .tables = plan_tables,
          .page = page_of};
}

}  // namespace

void bind_verbs(nb::module_& module) {
  module.def("analyze", analyze_answer);
  module.def("whatif", whatif_answer);
  module.def("project", project_answer);
  module.def("compare", compare_answer);
  module.def("sweep", sweep_answer);
  module.def("runs", runs_answer);
  module.def("check", check_answer);
  module.def("hang", hang_answer);
  module.def("live", live_once);
  nb::class_<PythonFollower>(module, "Follower")
      .def(nb::init<const Arguments&>())
      .def("next", &PythonFollower::next);
  module.def("digest", digest_answer);
  module.def("memory", memory_answer);
  module.def("stacks", stacks_answer);
  module.def("predict", predict_answer);
  module.def("plan", plan_answer);
}

}  // namespace stepscope::binding
