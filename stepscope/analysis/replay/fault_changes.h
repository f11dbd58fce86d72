// SPDX-License-Identifier: Apache-2.0
// Faults, and what one of one place changes in a graph: pauses, one long step, one slow process
// group, calls that wait for the device too often.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/base/enum_names.h"

namespace stepscope {

enum class StepFaultKind : std::uint8_t {
  slow_rank,        // its compute takes longer than its peers' in most steps
  late_host,        // its host takes longer
  data_loader,      // of one rank, or of all
  throttling,       // its compute takes longer from some step on
  pauses,           // rare long host work
  outlier_step,     // one step has more work than the others
  slow_group,       // transfers of a process group take longer than in its siblings
  stage_imbalance,  // a pipeline stage has more or slower work
  sync_calls,       // calls wait for the device more than once a step
  unseen_host       // the host does something in each step that no row shows
};
inline constexpr auto step_fault_names = enum_names<StepFaultKind::unseen_host>;

// Where it is seen, on the clock of the traces.
struct FaultPlace {
  int rank = 0;
  Ns start{};
  Ns time{};
};

struct StepFault {
  StepFaultKind kind = StepFaultKind::slow_rank;
  std::vector<int> ranks{};              // empty: all, or none in particular
  std::optional<std::uint32_t> group{};  // row of CollectiveMatches::groups
  std::optional<int> stage{};
  std::vector<std::int64_t> steps{};  // Step::index: of the outlier, of the pauses, the first of
                                      // throttling
  Scenario scenario{};
  Ns gain{};                         // per step, by the replay of `scenario`
  Ns excess{};                       // per step, on the rank: what it takes more; of a slow rank
                                     // whose scenario has no part, its host's
  double ratio = 1;                  // its time over that of what it is compared with
  std::size_t count = 0;             // pauses; calls that wait, per step and rank
  std::vector<FaultPlace> places{};  // of the pauses
  std::string between{};             // the place of unseen work or of the longest pause
  bool at_most = false;              // the peers may be as slow, hidden while they wait
  std::size_t lacks_steps = 0;  // steps that count, if too few to show whether it lasts; else 0
};

// A fault must give back this share of the step.
inline constexpr double least_fault_share = 0.02;

// Host work that took much longer than the same piece usually takes: by at least 0.3 ms and three
// times its median over the steps and ranks of the role. A row that at most half of these have,
// counting the two at the ends of the recording as having it, usually takes no time. Two recorded
// steps show none.
struct Pause {
  std::uint32_t node = 0;
  std::uint32_t view = 0;
  std::int32_t step = 0;
  Ns usual{};
  Ns excess{};
};
// Only what is rare, in at most half of the steps of a rank, and what costs something if the rank's
// pauses alone are undone: of the 16 ranks with most. Ascending by node.
[[nodiscard]] std::vector<Pause> find_pauses(const WhatIfInputs& inputs);
[[nodiscard]] std::vector<NodeChange> without_pauses(const WhatIfInputs& inputs,
                                                     std::span<const Pause> pauses);

// Time inside data loaders by view and step, of the changes of Change::data_free on all ranks.
[[nodiscard]] std::vector<std::vector<Ns>> data_of_steps(const WhatIfInputs& inputs,
                                                         std::span<const NodeChange> data_free);
// By view and step: the median of the other ranks of its role in the same step; negative without
// one.
[[nodiscard]] std::vector<std::vector<Ns>> data_of_peers(
    const WhatIfInputs& inputs, std::span<const std::vector<Ns>> data_of_steps);
// The rank loads its data as fast as its peers where it takes longer.
[[nodiscard]] std::vector<NodeChange> data_like_peers(const WhatIfInputs& inputs,
                                                      std::span<const NodeChange> data_free,
                                                      int rank);

// Whether the host of the view has rows in the step whose names, digits apart, it has nowhere else.
// `index`: Step::index.
[[nodiscard]] bool has_own_rows(const RankView& view, std::int64_t index);

// Each piece of the step takes the median of the same piece in the rank's other steps; pieces that
// no other step has take no time. `index`: Step::index.
[[nodiscard]] std::vector<NodeChange> step_like_others(const WhatIfInputs& inputs,
                                                       std::int64_t index);

// Calls of one name, in one operator, that wait for the device more than once a step do not wait.
// The last call of a step that waits still does if nearly nothing is launched after it.
[[nodiscard]] std::vector<NodeChange> without_repeated_syncs(const WhatIfInputs& inputs);

// A process group compared with its siblings: groups of the same dimension and size. Ratios compare
// the medians of transfers of one kind and message size; the median sibling is the reference.
struct GroupRatio {
  std::uint32_t group = 0;  // row of CollectiveMatches::groups
  double ratio = 1;         // transfer time over its siblings', weighted by time
  std::size_t siblings = 0;
  Ns time{};  // of its transfers, over all members and steps
};
// Groups with siblings and traced transfers, by row.
[[nodiscard]] std::vector<GroupRatio> group_ratios(const WhatIfInputs& inputs);
// Transfers of the group take as long as its siblings' where those are shorter.
[[nodiscard]] std::vector<NodeChange> group_like_siblings(const WhatIfInputs& inputs,
                                                          std::uint32_t group);
// Row of the group of this name, or of the one that has the rank where several share the name.
[[nodiscard]] std::optional<std::uint32_t> group_named(const WhatIfInputs& inputs,
                                                       std::string_view name,
                                                       std::optional<int> rank);

}  // namespace stepscope
