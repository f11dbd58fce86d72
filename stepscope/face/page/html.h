// SPDX-License-Identifier: Apache-2.0
// The HTML face of an analysis: one self-contained file (style, script and data inside, no network)
// that draws what `stepscope analyze --json` writes. The page's own sources are in face/page/ and
// become part of this library when it is built.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/face/tree/json_values.h"

namespace stepscope {

// The page that shows `analyze_json`, an object of schema stepscope.analyze/1
// (docs/reference/json.md) in UTF-8, `timeline` included where it is to be drawn. Whatever the
// strings in it contain, the data stays data: it cannot end the element that holds it. Nothing is
// parsed or checked here; the page says so where a part is absent.
[[nodiscard]] std::string render_html(std::string_view analyze_json);
// The page of a verb's tree.
[[nodiscard]] std::string page_of_tree(Json tree);

}  // namespace stepscope
