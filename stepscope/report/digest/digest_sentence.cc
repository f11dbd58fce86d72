// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/digest/digest_sentence.h"

#include <fmt/format.h>

#include <cstdint>

#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {

std::string digest_sentence(const DigestResult& r) {
  std::int64_t text = 0;
  std::int64_t bytes = 0;
  for (const DigestRow& row : r.digests) {
    text += static_cast<std::int64_t>(row.text_bytes);
    bytes += static_cast<std::int64_t>(row.bytes);
  }
  const bool one = r.digests.size() == 1;
  std::string out = fmt::format(
      "{} {} {}, {} of the {} of {}.", counted(r.digests.size(), "digest"), one ? "takes" : "take",
      format_bytes(Bytes{bytes}),
      format_percent(text > 0 ? static_cast<double>(bytes) / static_cast<double>(text) : 0),
      format_bytes(Bytes{text}), one ? "its trace" : "their traces");
  if (!r.missing.empty()) out += " No digest is of " + ranks_in_words(r.missing) + ".";
  return out;
}

}  // namespace stepscope
