// SPDX-License-Identifier: Apache-2.0
// `stepscope runs`: flags to request, result to outputs.
#include "stepscope/pipeline/history/runs.h"

#include <memory>

#include "stepscope/cli/flags/runs_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/history/runs_json.h"
#include "stepscope/report/history/runs_text.h"

namespace stepscope {
namespace {

int exit_code(const RunsResult& r, const RunsFlags& f) {
  if (!f.request.max_regression || !r.newest) return exit_done;
  if (r.newest->regression) return *r.newest->regression ? exit_regression : exit_done;
  return f.inconclusive == "ok" ? exit_done : exit_inconclusive;
}

int restore(const RunsFlags& f) {
  const auto request = restore_request(f);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = restore_run(*request);
  if (!result) return ended(result.error(), failures);
  if (f.out.prints()) print_text(restored_text(*result));
  if (f.out.has_tree()) write_tree(f.out, restored_tree(*result), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

int answer(const RunsFlags& f) {
  if (!f.restore.empty()) return restore(f);
  const auto request = runs_request(f);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = runs(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.out.prints()) print_text(runs_text(*result, text_options()));
  if (f.out.has_tree()) write_tree(f.out, runs_tree(*result), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_code(*result, f);
}

}  // namespace

std::function<int()> declare_runs(CLI::App& app) {
  auto flags = std::make_shared<RunsFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
