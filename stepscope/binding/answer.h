// SPDX-License-Identifier: Apache-2.0
// What a verb found, in every form that Python asks for. Each form is made when it is asked for,
// from the result that the functions share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/json_values.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope::binding {

struct Answer {
  std::function<Json()> tree;                           // as --json
  std::function<Json()> brief{};                        // as --brief --json; may be empty
  std::function<std::string(const TextOptions&)> text;  // as printed
  std::function<std::vector<TreeTable>(const Json&)>
      tables{};                             // of the tree, as --csv; may be empty
  std::function<std::string(Json)> page{};  // of the tree, as --html; may be empty
  // Of an analysis: what its steps would take with these changes. Raises; may be empty.
  std::function<Answer(const std::vector<std::string>& changes, const std::string& machine)>
      whatif{};
  std::vector<Error> failures{};  // what could not be read or answered while the rest was
};

}  // namespace stepscope::binding
