// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/digest/digest_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "stepscope/report/digest/digest_sentence.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {

std::string digest_text(const DigestResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(printable(digest_sentence(r)), width);
  const auto kept =
      static_cast<std::uint64_t>(std::ranges::count(r.digests, true, &DigestRow::kept));
  if (kept > 0)
    out += wrapped(fmt::format("{} there already, of the {} as {} now.",
                               kept == 1 ? "1 was" : fmt::format("{} were", kept),
                               kept == 1 ? "file" : "files", kept == 1 ? "it is" : "they are"),
                   width);
  out += wrapped(printable(fmt::format("stepscope analyze {} reads them.", r.folder)), width);
  return out;
}

}  // namespace stepscope
