// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/result.h"

namespace stepscope {
namespace {

// The part of a source's path below the root of the source tree.
std::string_view in_tree(std::string_view path) {
  constexpr std::string_view here = "stepscope/base/result.cc";
  const std::string_view own = std::source_location::current().file_name();
  if (!own.ends_with(here)) return path;
  const std::string_view root = own.substr(0, own.size() - here.size());
  return path.starts_with(root) ? path.substr(root.size()) : path;
}

}  // namespace

std::string Error::message() const {
  std::string line;
  if (!file.empty()) line += file + ": ";
  if (byte) line += "byte " + std::to_string(*byte) + ": ";
  line += what;
  if (!hint.empty()) line += "; " + hint;
  return line;
}

void check(bool ok, std::string_view what, std::source_location where) {
  if (ok) [[likely]]
    return;
  throw Bug(std::string(in_tree(where.file_name())) + ":" + std::to_string(where.line()) + ": " +
            std::string(what));
}

Error refused_for(const Bug& bug, std::string file) {
  return {.what = "is not analysed: stepscope has a bug (" + std::string(bug.what()) + ")",
          .file = std::move(file),
          .hint = "please report it, with the file if you can"};
}

}  // namespace stepscope
