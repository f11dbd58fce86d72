// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/json_values.h"

namespace stepscope {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_text(const Json& tree) { return dump(tree) + '\n'; }

}  // namespace stepscope
