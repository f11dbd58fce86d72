// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/digest/digest_views.h"

#include <algorithm>
#include <utility>

#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {

Json digest_tree(const DigestResult& r) {
  Json digests = Json::array();
  for (const DigestRow& row : r.digests)
    digests.push_back({{"path", row.output},
                       {"input", row.input},
                       {"ranks", row.ranks},
                       {"world_size", value(row.world_size)},
                       {"text_bytes", row.text_bytes},
                       {"bytes", row.bytes},
                       {"kept", row.kept}});
  return {{"schema", "stepscope.digest/1"},
          {"version", r.version},
          {"answer", {{"sentence", say_stopped(digest_sentence(r))}}},
          {"folder", r.folder},
          {"digests", std::move(digests)},
          {"missing_ranks", r.missing}};
}

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
