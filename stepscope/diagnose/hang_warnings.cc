// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/hang_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {

std::vector<std::string> hang_warnings(const CommRecords& records, const HangAccount& account) {
  std::vector<std::string> out;
  const bool log_finding = std::ranges::any_of(
      account.findings, [&](const HangFinding& f) { return records.groups[f.group].from_log; });
  if (log_finding)
    out.emplace_back(
        "an NCCL log shows what was called, not what finished: a rank that is "
        "\"missing\" in the last call may only be late");
  const bool logged =
      std::ranges::any_of(records.groups, [](const RecordedGroup& g) { return g.from_log; });
  const bool called = std::ranges::any_of(records.sequences, [&](const CommSequence& q) {
    return records.groups[q.group].from_log && !(q.collectives.empty() && q.pairs.empty());
  });
  if (logged && !called)
    out.emplace_back("the logs have no calls: record with NCCL_DEBUG_SUBSYS=INIT,COLL");
  std::size_t assumed = 0;
  for (const HangGroup& g : account.groups) {
    const RecordedGroup& group = records.groups[g.group];
    if (!group.members_recorded && !group.from_log && g.recorded > 0) ++assumed;
  }
  if (assumed > 0)
    out.push_back(
        fmt::format("of {} the members are not recorded: those who called are taken for "
                    "all",
                    counted(assumed, "group")));
  for (const CommInput& input : records.inputs) {
    const std::string name = printable(input.path.substr(input.path.rfind('/') + 1));
    if (input.truncated) out.push_back(name + " ends too early; what came before is counted");
    for (const auto& [reason, count] : input.notes) {
      if (reason == "other_lines_of_nccl") continue;  // in the JSON
      std::string words = reason;
      std::ranges::replace(words, '_', ' ');
      out.push_back(fmt::format("{}: {}: {}", name, words, count));
    }
  }
  return out;
}

}  // namespace stepscope
