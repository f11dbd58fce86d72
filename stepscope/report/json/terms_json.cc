// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/terms_json.h"

#include <algorithm>
#include <string>

#include "stepscope/words/vocabulary.h"

namespace stepscope {

Json terms_json(std::initializer_list<std::string_view> groups) {
  Json out = Json::object();
  for (const TermGroup& group : term_groups()) {
    if (std::ranges::find(groups, group.name) == groups.end()) continue;
    Json& terms = out[std::string(group.name)] = Json::object();
    for (const Term& t : terms_of(group.name))
      terms[std::string(t.key)] = {{"label", t.label},
                                   {"brief", t.brief.empty() ? t.label : t.brief},
                                   {"explanation", text_or_null(std::string(t.explanation))},
                                   {"unit", text_or_null(std::string(group.unit))}};
  }
  return out;
}

}  // namespace stepscope
