// SPDX-License-Identifier: Apache-2.0
// `stepscope project`: flags to request, result to outputs.
#include "stepscope/pipeline/project.h"

#include <memory>

#include "stepscope/cli/flags/project_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/projection/project_json.h"
#include "stepscope/report/projection/project_text.h"

namespace stepscope {
namespace {

int answer(const ProjectFlags& f) {
  const auto request = project_request(f);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = project(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.out.prints()) print_text(project_text(*result, text_options({})));
  write_json_text(f.out.json,
                  json_text(f.brief ? project_brief_tree(*result) : project_tree(*result)),
                  failures);
  if (!f.out.csv.empty()) write_tables(f.out.csv, project_tables(project_tree(*result)), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_project(CLI::App& app) {
  auto flags = std::make_shared<ProjectFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
