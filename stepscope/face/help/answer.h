// SPDX-License-Identifier: Apache-2.0
// What a verb found, in every form that the command line and Python ask for. Each form is made when
// it is asked for, from the result that the functions share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/face/help/exit_code.h"
#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

class Failures;

struct Answer {
  std::function<Json()> tree;                           // as --json
  std::function<Json()> brief{};                        // as --brief --json; may be empty
  std::function<std::string(const TextOptions&)> text;  // as printed
  std::function<std::vector<TreeTable>(const Json&)>
      tables{};                             // of the tree, as --csv; may be empty
  std::function<std::string(Json)> page{};  // of the tree, as --html; may be empty
  // The time that the steps of an analysis would take with these changes. May be empty.
  std::function<Result<Answer>(const std::vector<std::string>& changes, const std::string& machine,
                               const Progress& progress)>
      whatif{};
  std::vector<Error> failures{};  // what could not be read or answered while the rest was
  // For the command: other files that it writes, its exit code if all was written, and what it says
  // last, as a failure.
  std::function<void(Failures& failures)> write{};
  ExitCode exit = exit_done;
  std::optional<Error> lacking{};
};

// The error of a request: of wrong usage unless it names a file.
[[nodiscard]] inline Error wrong_request(Error error) {
  if (error.file.empty()) error.code = ErrorCode::refused;
  return error;
}

}  // namespace stepscope
