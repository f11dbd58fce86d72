// SPDX-License-Identifier: Apache-2.0
// The communication of a job: amounts, speed, and waiting ranks. One row per kind, group and
// message size, and one per dimension of parallelism.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/collectives/collective_times.h"
#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct CollectiveRow {
  CollectiveKind kind = CollectiveKind::unknown;  // send and recv are one kind: send_recv
  std::string group;                              // the group's label, or "unknown"
  Dimension dimension = Dimension::unknown;
  std::optional<int> group_size;
  std::vector<std::uint32_t> groups;  // rows of CollectiveMatches::groups; empty: not recorded
  std::string dtype;                  // c10's name; empty = not recorded
  std::uint64_t count = 0;            // matched instances, plus the most unmatched ones of any rank
  std::uint64_t matched = 0;          // instances found on all traced members
  std::uint64_t split = 0;            // instances with separate wait and transfer
  std::optional<Bytes> bytes;         // S of one call (mean if sizes vary too much to list)
  std::optional<ByteRate> algbw;      // S / median transfer
  std::optional<ByteRate> busbw;      // algbw × busbw_factor of the group's size
  std::optional<Ns> transfer;         // Σ over split instances of the median over its ranks
  std::optional<Ns> wait;             // Σ over split instances and their ranks
  Ns duration{};                      // Σ over instances of the median over its ranks
  Ns exposed{};                       // Σ over instances, the mean over the ranks with any
  std::optional<Ns> skew;             // median of last - first arrival, of complete instances
  std::optional<int> last_rank;       // rank that is last most often (the lowest of several)
  std::optional<double> last_rank_share;
  std::optional<Ns> clock_uncertainty;  // median of last - first end; barrier-like kinds only
};

struct DimensionRow {
  Dimension dimension = Dimension::unknown;
  std::uint64_t count = 0;
  std::optional<Bytes> bytes;  // Σ count × S; absent when no row has a size
  std::optional<Ns> wait;
  std::optional<Ns> transfer;
  Ns exposed{};
};

struct CollectiveOptions {
  GroupDimensions dimensions;      // from the user
  std::vector<CommGroup> sized{};  // the groups that the user's sizes make
  unsigned threads = 1;
};

// Kind, group (row of CollectiveMatches::groups) and bytes of calls.
using CallKey = std::tuple<CollectiveKind, std::uint32_t, std::int64_t>;

struct Collectives {
  CollectiveMatches matches;
  CollectiveTimes times;
  std::vector<std::vector<Ns>> exposed;  // by view and call
  std::vector<CommSplit> splits;         // by view, for the time budget
  std::vector<Dimension> dimension_of;   // by group of `matches`
  std::vector<CollectiveRow> rows;       // by exposed time, largest first
  std::vector<DimensionRow> dimensions;  // by exposed time, largest first
  std::set<CallKey> of_activations;      // see find_activations
};

// Takes calls that are already matched. Their instants must be on one time axis.
[[nodiscard]] Collectives analyze_collectives(std::span<const RankView> views,
                                              CollectiveMatches matches,
                                              const CollectiveOptions& options = {});
[[nodiscard]] inline Collectives analyze_collectives(std::span<const RankView> views) {
  return analyze_collectives(views, match_collectives(views));
}

// The all-reduces and reduce-scatters of one kind, group and size whose calls are made in a forward
// at least a quarter of the time. They sum activations (tensor parallelism) and their gradients in
// backward, not gradients of parameters. `phases` are by view.
[[nodiscard]] std::set<CallKey> find_activations(std::span<const RankView> views,
                                                 const CollectiveMatches& matches,
                                                 std::span<const HostPhases> phases);

// The time budget of a rank by the work of its device: compute by the class of its kernels, exposed
// communication by its dimension of parallelism. Every instant counts once, as in the budget. If
// kernels of several classes run, the first class in the order of NameClass counts. Compute hides
// communication. Every kernel of the optimizer's phase counts as optimizer, whatever its name:
// foreach, compiled and matrix-product (Muon) optimizers run kernels of any name.

struct ClassTime {
  // By NameClass; the sum is compute + comm_overlapped of the budget.
  std::array<Ns, name_class_count> compute{};
  // By Dimension; the sums are comm_exposed_transfer, _unsplit and _wait.
  std::array<Ns, dimension_count> transfer{};
  std::array<Ns, dimension_count> unsplit{};
  std::array<Ns, dimension_count> wait{};
};

// The inputs in addition to the trace. All must outlive the call.
struct ClassTimeInputs {
  const RankIndex& rank;
  std::span<const Step> steps;
  const HostPhases& phases;
  const CommSplit& split;
  const RankCalls& calls;                 // of this rank
  std::span<const Dimension> dimensions;  // by CollectiveCall::group
  const TimeBudget& budget;
};

// Parallel to the steps, for the budget's chosen device. Empty for a CPU-only trace, because its
// operators nest. O(N log N).
[[nodiscard]] std::vector<ClassTime> class_times(const Trace& trace, const ClassTimeInputs& inputs);

}  // namespace stepscope
