// SPDX-License-Identifier: Apache-2.0
#include "tests/roundtrip/file_text.h"

#include <span>
#include <stdexcept>

#include "stepscope/base/files/open_source.h"

namespace stepscope::roundtrip {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

}  // namespace

std::string file_text(const std::string& path) {
  const auto source = open_source(path);
  if (!source) fail(source.error().message());
  std::string text;
  constexpr std::size_t block = 1 << 20;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(size + block);
    const auto got = (*source)->read(std::span(text).subspan(size));
    if (!got) fail(got.error().message());
    text.resize(size + *got);
    if (*got < block) break;
  }
  if (!(*source)->damage().empty()) fail(path + ": " + (*source)->damage());
  return text;
}

}  // namespace stepscope::roundtrip
