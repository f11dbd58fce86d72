// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/call_inference.h"

#include <algorithm>
#include <unordered_map>

#include "stepscope/analysis/matching/message_size.h"

namespace stepscope {
namespace {

struct StreamFacts {
  std::uint32_t group = no_row;
  bool one_group = true;
  bool other_messages = false;  // a SendRecv kernel that is known not to be an all-to-all
  bool all_to_all = false;
};

void learn(const CollectiveCall& call, StreamFacts& facts) {
  if (call.group != no_row) {
    facts.one_group = facts.one_group && (facts.group == no_row || facts.group == call.group);
    facts.group = call.group;
  }
  if (call.kind_by_name) return;
  facts.all_to_all = facts.all_to_all || call.kind == CollectiveKind::all_to_all;
  facts.other_messages = facts.other_messages || is_point_to_point(call.kind);
}

}  // namespace

void infer_from_streams(const RankView& view, RankCalls& rank) {
  std::unordered_map<std::uint32_t, StreamFacts> facts;
  for (const CollectiveCall& call : rank.calls) learn(call, facts[index(call.stream)]);
  for (CollectiveCall& call : rank.calls) {
    const StreamFacts& known = facts[index(call.stream)];
    if (call.group == no_row && known.one_group && !view.index->cpu_only())
      call.group = known.group;
    const bool bare_messages =
        call.kind_by_name && call.kind == CollectiveKind::send_recv && call.edge_count == 0;
    if (bare_messages && known.all_to_all && !known.other_messages)
      call.kind = CollectiveKind::all_to_all;
  }
}

void find_steps_of_calls(std::span<const Step> steps, RankCalls& rank) {
  for (CollectiveCall& call : rank.calls) {
    const auto after = std::ranges::upper_bound(steps, call.start, {}, &Step::start);
    if (after == steps.begin()) continue;
    const auto step = static_cast<std::uint32_t>(after - steps.begin() - 1);
    if (call.start < steps[step].end) call.step = step;
  }
}

}  // namespace stepscope
