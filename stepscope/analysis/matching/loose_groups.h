// SPDX-License-Identifier: Apache-2.0
// The groups of collectives whose record names no group: gloo's rows have only a kind and a size.
// Three facts show the groups. A gloo group works on worker threads of its own, two by default,
// which it starts when it is created, so threads and the file's list of groups have one order. All
// members of a group run the same calls in the same order. All calls of an all-reduce begin before
// the first of them ends, and they end nearly together; those of different groups do so only by
// chance.
//
// So a group is first compared with the threads of all its members. A thread that contradicts the
// group once in a hundred calls does not belong to it. Then the threads of each rank are divided
// among its groups, in order. Where several divisions are left, the one whose calls end nearest to
// each other counts. If several are about equally near, the larger group counts. All members decide
// together. A thread that is not clear is left without a group, and a message says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

// Calls of one rank whose group is not certain.
struct UnsureGroup {
  int rank = 0;
  std::size_t calls = 0;
  std::string group;  // name of the one that fits best; may be empty
};

// Sets the groups of calls of worker threads of the views, and what complete_by_group() sets.
// O(calls × threads² × listed groups) per view: each is compared with two neighbours in a group.
[[nodiscard]] std::vector<UnsureGroup> find_loose_groups(const CapturedViews& in);

}  // namespace stepscope
