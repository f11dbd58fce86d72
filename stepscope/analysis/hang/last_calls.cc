// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <vector>

#include "stepscope/analysis/hang/hang_account.h"

namespace stepscope {

std::vector<LastCall> last_calls(const CommRecords& records) {
  std::vector<std::optional<LastCall>> by_rank(records.ranks.size());
  for (const CommSequence& s : records.sequences) {
    for (const auto* list : {&s.collectives, &s.pairs}) {
      if (list->empty()) continue;
      std::optional<LastCall>& last = by_rank[s.rank];
      const std::uint64_t before = last ? last->calls : 0;
      if (!last || list->back().position >= last->call.position)
        last = LastCall{.rank = s.rank, .group = s.group, .call = list->back()};
      last->calls = before + list->size();
    }
  }
  std::vector<LastCall> out;
  for (const auto& last : by_rank)
    if (last) out.push_back(*last);
  return out;
}

}  // namespace stepscope
