// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/hang_warnings.h"

#include <algorithm>

#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {

Messages hang_warnings(const CommRecords& records, const HangAccount& account) {
  Messages out;
  const bool log_finding = std::ranges::any_of(
      account.findings, [&](const HangFinding& f) { return records.groups[f.group].from_log; });
  if (log_finding) out.push_back(msg::log_without_ends());
  const bool logged =
      std::ranges::any_of(records.groups, [](const RecordedGroup& g) { return g.from_log; });
  const bool called = std::ranges::any_of(records.sequences, [&](const CommSequence& q) {
    return records.groups[q.group].from_log && !(q.collectives.empty() && q.pairs.empty());
  });
  if (logged && !called) out.push_back(msg::logs_without_calls());
  std::size_t assumed = 0;
  for (const HangGroup& g : account.groups) {
    const RecordedGroup& group = records.groups[g.group];
    if (!group.members_recorded && !group.from_log && g.recorded > 0) ++assumed;
  }
  if (assumed > 0) out.push_back(msg::members_assumed(assumed));
  for (const CommInput& input : records.inputs) {
    const std::string name = printable(input.path.substr(input.path.rfind('/') + 1));
    if (input.truncated) out.push_back(msg::ends_too_early(name));
    for (const auto& [reason, count] : input.notes) {
      if (reason == "other_lines_of_nccl") continue;  // in the JSON
      out.push_back(msg::counted_reason(name, spaced(reason), count));
    }
  }
  return out;
}

}  // namespace stepscope
