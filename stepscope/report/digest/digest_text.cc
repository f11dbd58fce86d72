// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/digest/digest_text.h"

#include <algorithm>

#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {

Message digest_sentence(const DigestResult& r) {
  double text = 0;
  double bytes = 0;
  for (const DigestRow& row : r.digests) {
    text += static_cast<double>(row.text_bytes);
    bytes += static_cast<double>(row.bytes);
  }
  return joined(msg::sentences,
                {msg::digests_take(r.digests.size(), ByteSize{bytes},
                                   Percent{share_or_zero(bytes, text)}, ByteSize{text}),
                 r.missing.empty() ? Message() : msg::no_digest_of(r.missing)});
}

std::string digest_text(const DigestResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const auto kept = std::ranges::count(r.digests, true, &DigestRow::kept);
  std::string out = wrapped(printable(say_stopped(digest_sentence(r))), width);
  if (kept > 0) out += wrapped(msg::digests_kept(kept), width);
  return out + wrapped(printable(say_stopped(msg::analyze_reads(r.folder))), width);
}

}  // namespace stepscope
