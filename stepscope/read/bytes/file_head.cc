// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/file_head.h"

#include <algorithm>
#include <cctype>

#include "stepscope/base/files/open_source.h"
#include "stepscope/read/bytes/pickle.h"
#include "stepscope/read/bytes/plain_json.h"

namespace stepscope {

Beginning beginning_of(std::string_view head) {
  if (head.empty()) return Beginning::empty;
  if (is_pickle(head)) return Beginning::pickle;
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) return Beginning::other;
  if (head[first] == '{' || head[first] == '[') return Beginning::json;
  std::string begin(head.substr(first, 16));
  std::ranges::transform(begin, begin.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool page = begin.starts_with("<!doctype html") || begin.starts_with("<html");
  return page ? Beginning::page : Beginning::other;
}

Result<FileHead> head_of_file(const std::string& path) {
  auto source = open_source(path);
  if (!source) return source.error();
  FileHead head{.text = std::string(file_head_bytes, '\0')};
  const auto got = (*source)->read(head.text);
  if (!got) return got.error();
  head.whole = *got < head.text.size();
  head.text.resize(*got);
  head.damage = (*source)->damage();
  return head;
}

Result<PlainTree> plain_head(const FileHead& head, std::string_view path) {
  return beginning_of(head.text) == Beginning::pickle ? parse_pickle_head(head.text, path)
                                                      : parse_plain_json_head(head.text, path);
}

}  // namespace stepscope
