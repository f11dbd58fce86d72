// SPDX-License-Identifier: Apache-2.0
// The one cause that the first line names: the fixable one whose removal gives back most of a step,
// by the replay; else what binds a step in which nothing is wrong.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/diagnose/clock_cause.h"
#include "stepscope/diagnose/finding.h"
#include "stepscope/say/message.h"

namespace stepscope {

enum class CulpritKind : std::uint8_t {
  // Faults, as StepFaultKind, then those that other parts of the replay show.
  slow_rank,
  late_host,
  data_loader,
  throttling,
  pauses,
  outlier_step,
  slow_group,
  stage_imbalance,
  sync_calls,
  unseen_host,
  uneven_compute,
  device_shared,
  allocation_retries,
  sequence_imbalance,
  // Bounds: no rank, group, stage or step stands out.
  launch_bound,
  exposed_communication,
  exposed_copies,
  bubble,
  memory_bound,
  compute_bound
};
inline constexpr auto culprit_kind_names = enum_names<CulpritKind::compute_bound>;

[[nodiscard]] constexpr bool is_fault(CulpritKind kind) { return kind < CulpritKind::launch_bound; }

struct Culprit {
  CulpritKind kind = CulpritKind::compute_bound;
  std::vector<int> ranks{};            // guilty; empty: all, or none in particular
  std::optional<std::string> group{};  // name of the process group
  std::string dim{};                   // its dimension ("tp"); empty without a group
  std::optional<int> stage{};
  std::vector<std::int64_t> steps{};  // numbers of ProfilerSteps
  Ns gain{};                          // per mean step, by the replay of `change`; zero for bounds
                                      // that nothing known removes
  double share = 0;                   // of the step
  Confidence confidence = Confidence::high;
  bool peers_alike = false;  // the other ranks may be as slow, hidden while they wait
  Message sentence{};
  std::vector<FaultPlace> places{};  // of pauses
  // FLOPs that the ranks are given, over their peers'; of slow_rank, if shapes are recorded.
  std::optional<double> work{};
  bool more_work = false;             // which explains their time
  std::optional<ClockCause> clock{};  // of a rank whose kernels are slow, if its clock was read
  std::string change{};               // for `stepscope whatif --change`; empty: none
  std::string_view cause{};           // of a bound: id of the finding that explains most of it
};

// Whether the replay gives the cost of each cause. Then only its faults accuse: a rank that is late
// may be a victim.
[[nodiscard]] bool replay_tells(const JobResult& job);
// Whether the step of this index counts (JobSteps::counted): the first of several does not on a
// device.
[[nodiscard]] bool counts_in_length(const JobResult& job, std::int64_t step);

// The verdict first, then its alternatives: other faults, largest gain first. Empty if the steps
// could not be replayed, so nothing is known about gains.
[[nodiscard]] std::vector<Culprit> find_culprits(const JobResult& job);
// The largest of what a replay takes away from a step that compute binds, if worth a sentence.
// REQUIRES: replay_tells(job).
[[nodiscard]] std::optional<Culprit> next_after_compute(const JobResult& job);

// How far a gain by the replay can be trusted: low if the graph leaves too much of a step
// unexplained or predicts held-out steps badly, medium if no step could be held out.
[[nodiscard]] Confidence replay_confidence(const Explanation& explanation);

// Why the replay answers nothing, and what to record.
struct NoAnswer {
  Message reason;  // "61.0 % of the critical path is not explained (…)"
  Message remedy;  // "record …"; empty if nothing known is missing
};
// Absent if it answers (Explanation::refused).
[[nodiscard]] std::optional<NoAnswer> no_answer(const JobResult& job);

// "leave --ranks out" where the traces of more ranks are there than were asked for; else nothing.
[[nodiscard]] Message leave_ranks_out(const JobResult& job);

// What the host, not the device, takes of a step on the rank where that is most: idle time of the
// device before work that the host launches late. Peers wait during the same time. What a host
// costs is at most this.
[[nodiscard]] Ns time_without_work(const JobResult& job);

// "this costs at most 98.3 ms (51.0 %) of each step of 193 ms".
[[nodiscard]] Message cost_of(Ns at_most, const JobResult& job);

// What the retries of allocations on a rank take of a step, at most what a free allocator saves.
[[nodiscard]] Ns cost_of_retries(const JobResult& job, const RankResult& rank);

// The trace has no steps: its whole window is taken for one.
[[nodiscard]] bool is_window(const JobResult& job);

// The length of a step: of the replay, which counts from the end of a step to the end of the next;
// else the mean of the ranks' steps. Zero without steps.
[[nodiscard]] Ns step_length(const JobResult& job);
// That mean, in ns.
[[nodiscard]] double mean_step(const JobResult& job);

}  // namespace stepscope
