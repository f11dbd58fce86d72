// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/digest/digest_json.h"

#include <utility>

#include "stepscope/report/digest/digest_text.h"
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

}  // namespace stepscope
