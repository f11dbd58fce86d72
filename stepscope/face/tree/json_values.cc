// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/tree/json_values.h"

#include <algorithm>

#include "stepscope/base/utf8.h"
#include "stepscope/say/vocabulary.h"

namespace stepscope {

std::string valid_text(std::string_view text) {
  for (std::size_t p = 0; p < text.size();) {
    const std::size_t n = utf8_length(text, p);
    if (n == 0) return Json::parse(dump(Json(text))).get<std::string>();
    p += n;
  }
  return std::string(text);
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_text(const Json& tree) { return dump(tree) + '\n'; }

Json terms_json(std::initializer_list<std::string_view> groups, bool on_cpu) {
  Json out = Json::object();
  for (const TermGroup& group : term_groups()) {
    if (std::ranges::find(groups, group.name) == groups.end()) continue;
    Json& terms = out[std::string(group.name)] = Json::object();
    for (const Term& t : terms_of(group.name)) {
      const std::string_view label = label_of(group.name, t.key, on_cpu);
      const bool brief = !t.brief.empty() && label == t.label;
      terms[std::string(t.key)] = {{"label", label},
                                   {"brief", brief ? t.brief : label},
                                   {"explanation", text_or_null(std::string(t.explanation))},
                                   {"unit", text_or_null(std::string(group.unit))}};
    }
  }
  return out;
}

}  // namespace stepscope
