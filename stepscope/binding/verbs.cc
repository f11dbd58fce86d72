// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/verbs.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/binding/python_wording.h"
#include "stepscope/binding/run_verb.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/verbs/live/live_command.h"
#include "stepscope/verbs/live/live_json.h"
#include "stepscope/verbs/live/live_text.h"

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

using Arguments = std::vector<std::string>;

constexpr const char* live = "live";

// The answer of a verb to these arguments. Raises.
VerbAnswer answer_of(const Verb& verb, const Arguments& arguments) {
  std::string name(verb.name);
  CLI::App app;
  const VerbRun run = verb.declare(app);
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    raise(wrong_request({.what = error.what()}), name);
  }
  Answer answer = run_verb(name, [&](const StopFlag& stop) { return run.answer({.stop = &stop}); });
  return {std::move(name), std::move(answer)};
}

// A job that Python follows: next() waits for an interval, except the first time.
class PythonFollower {
 public:
  explicit PythonFollower(const Arguments& arguments) : follower_(opened(arguments)) {}

  // Tree and text are made here: the job goes on.
  VerbAnswer next() {
    std::vector<Error> failures;
    const auto failed = [&](const Error& e) { failures.push_back(e); };
    auto made = run_verb(live, [&](const StopFlag& stop) -> Result<std::pair<Json, std::string>> {
      const Wording words = python_wording(live);
      const WordingScope scope(words);
      const Progress progress{.failed = failed, .stop = &stop};
      if (std::exchange(begun_, true)) follower_.wait(progress);
      const auto view = follower_.read(false, progress);
      if (!view) return view.error();
      return std::pair(live_tree(*view), live_text(*view, {}, lines_of_once));
    });
    const auto shared = std::make_shared<const std::pair<Json, std::string>>(std::move(made));
    return {live,
            {.tree = [shared] { return shared->first; },
             .text = [shared](const TextOptions&) { return shared->second; },
             .failures = std::move(failures)}};
  }

 private:
  static LiveFollower opened(const Arguments& arguments) {
    auto follower = follow_job(arguments);
    if (!follower) raise(follower.error(), live);
    return std::move(*follower);
  }

  LiveFollower follower_;
  bool begun_ = false;
};

}  // namespace

void bind_verbs(nb::module_& module) {
  for (const Verb& verb : verb_table()) {
    CLI::App app;
    if (!verb.declare(app).answer) continue;
    // `list` would hide the type of that name.
    const std::string name(verb.name == "list" ? "listed" : verb.name);
    module.def(name.c_str(),
               [&verb](const Arguments& arguments) { return answer_of(verb, arguments); });
  }
  nb::class_<PythonFollower>(module, "Follower")
      .def(nb::init<const Arguments&>())
      .def("next", &PythonFollower::next);
}

}  // namespace stepscope::binding
