// SPDX-License-Identifier: Apache-2.0
// What a verb found, in every form that the command line and Python ask for. Each form is made when
// it is asked for, from the result that the functions share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
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
  std::function<Json()> tree{};                           // as --json
  std::function<Json()> brief{};                          // as --brief --json; may be empty
  std::function<std::string(const TextOptions&)> text{};  // as printed
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

// The answer of a verb: run(request, progress) gives the result R, whose forms are tree(R) and
// text(R, options). `other` has the forms that are made of the tree.
template <class Request, class R, class Tree, class Text>
Result<Answer> answer_to(const Result<Request>& request,
                         Result<R> (*run)(const Request&, const Progress&),
                         const Progress& progress, Tree tree, Text text, Answer other = {},
                         const std::type_identity_t<std::function<ExitCode(const R&)>>& exit = {}) {
  if (!request) return wrong_request(request.error());
  auto found = run(*request, progress);
  if (!found) return found.error();
  const auto result = std::make_shared<const R>(std::move(*found));
  other.tree = [result, tree] { return tree(*result); };
  other.text = [result, text](const TextOptions& options) { return text(*result, options); };
  if constexpr (requires { result->failures; }) other.failures = result->failures;
  if (exit) other.exit = exit(*result);
  return other;
}

}  // namespace stepscope
