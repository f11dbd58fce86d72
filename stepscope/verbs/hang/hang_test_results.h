// SPDX-License-Identifier: Apache-2.0
// Records and findings of jobs that stand still, for tests.
#pragma once

#include <cstdint>

#include "stepscope/verbs/hang/hang.h"

namespace stepscope::test {

// Four ranks of one group.
inline CommRecords four_ranks() {
  CommRecords records;
  const std::uint32_t g = records.group_keyed("0");
  records.groups[g].id = "0";
  records.groups[g].name = "default_pg";
  for (int r = 0; r < 4; ++r) records.rank_numbered(r);
  return records;
}

inline HangFinding hang_finding(HangKind kind) {
  HangFinding f;
  f.kind = kind;
  f.sequence = 57;
  f.ranks = {3};
  f.others = {0, 1, 2};
  f.call = HangCall{.name = "all_reduce", .sizes = "[[4]]", .types = "Float"};
  f.instead = HangCall{.name = "all_gather", .sizes = "[[5]]", .types = "Half"};
  return f;
}

}  // namespace stepscope::test
