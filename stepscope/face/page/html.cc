// SPDX-License-Identifier: Apache-2.0
// The shell of the page (bytes generated at build time) around the data, escaped for a <script>
// element.
#include "stepscope/face/page/html.h"

#include "stepscope/face/page/page_shell.h"

namespace stepscope {
namespace {

// U+2028 and U+2029 in UTF-8: legal in JSON, line ends to older scripts.
bool is_line_separator(std::string_view text) {
  return text.size() >= 3 && text[0] == '\xE2' && text[1] == '\x80' &&
         (text[2] == '\xA8' || text[2] == '\xA9');
}

// `<` occurs in JSON only inside strings, where \u003c is the same character; without any `<`
// neither `</script` nor
// `<!--` can change how the rest of the file is read.
void append_escaped(std::string& out, std::string_view json) {
  std::size_t done = 0;
  for (std::size_t at = 0; (at = json.find_first_of("<\xE2", at)) != std::string_view::npos;) {
    const bool separator = is_line_separator(json.substr(at));
    if (json[at] != '<' && !separator) {
      ++at;
      continue;
    }
    out.append(json.substr(done, at - done));
    out.append(!separator ? "\\u003c" : json[at + 2] == '\xA8' ? "\\u2028" : "\\u2029");
    at += separator ? 3 : 1;
    done = at;
  }
  out.append(json.substr(done));
}

}  // namespace

std::string render_html(std::string_view analyze_json) {
  const std::string_view head = page_before_data();
  const std::string_view tail = page_after_data();
  std::string page;
  page.reserve(head.size() + analyze_json.size() + analyze_json.size() / 16 + tail.size());
  page.append(head);
  append_escaped(page, analyze_json);
  page.append(tail);
  return page;
}

std::string page_of_tree(Json tree) { return render_html(json_text(tree)); }

}  // namespace stepscope
