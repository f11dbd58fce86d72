// SPDX-License-Identifier: Apache-2.0
// Explains the time of the steps: the dependency graph of the recorded steps, its critical path,
// the causes of waiting, and the effect of changes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/blame.h"
#include "stepscope/analysis/replay/bucket_change.h"
#include "stepscope/analysis/replay/critical_path.h"
#include "stepscope/analysis/replay/early_waits.h"
#include "stepscope/analysis/replay/faults.h"
#include "stepscope/analysis/replay/held_out.h"
#include "stepscope/analysis/replay/what_if.h"
#include "stepscope/analysis/steps/counted_steps.h"

namespace stepscope {

// How far a gain can be trusted. A what-if is the difference of two replays with the same delays,
// so what only varies between steps cancels in it. What the graph lacks does not. One recording
// does not show which of the two causes an error of held-out steps (held_out.h), so in the worst
// case the mean step is off by as much as the prediction of a single one, `error` of it:
//
//   |true gain − gain| <= error · step = gain_error()
//
// A gain of at least `trusted_gain` times gain_error() is stated: its larger half is there in the
// worst case. A smaller gain is known only as a range, gain ± gain_error(), and names no fault. No
// gain is stated if changes between recorded steps that the replay predicted did not come
// (HeldOut::fulfilled), because then a larger change is off by a share of itself; nor if more than
// `unexplained_refused` of the critical path is a delay or a call whose peers are not known.
// Whatever its size, such a piece may wait for something that the change does not move, and then it
// grows by the time that the change saves before it; or it may vanish with the change. So a
// requested change is answered by a range: from nothing to the gain with all delays
// (Explanation::residual_share) added.
//
// Errors above the first share of a step make a what-if rough, above the second they count as
// described here. Errors below `variation_left` of the steps' differences do neither: the replay
// predicts most of these differences.
inline constexpr double replay_error_warning = 0.02;
inline constexpr double replay_error_large = 0.05;
inline constexpr double variation_left = 0.5;
inline constexpr double trusted_gain = 2;
inline constexpr double least_fulfilled = 0.5;
// Unexplained shares of the critical path above the first make a what-if doubtful. Above the second
// no gain is stated.
inline constexpr double unexplained_doubtful = 0.25;
inline constexpr double unexplained_refused = 0.5;
// A residual share above this makes a what-if doubtful.
inline constexpr double residual_doubtful = 0.05;

// A device that starts launched work late although nothing of the rank runs on it. Delays of at
// least 0.2 ms count. A device is listed if it has at least ten and they sum to 2 % of the rank's
// steps.
struct HeldDevice {
  int rank = 0;
  std::uint64_t count = 0;
  Ns median{};
  Ns total{};
  Ns worst_at{};  // on the trace's clock
  Ns worst{};
  // Length of a time slice if another process has the device in between (device_holds.h).
  std::optional<Ns> slice;
};

struct Explanation {
  Ns step{};                          // replayed
  std::optional<HeldOut> held_out{};  // absent: too few steps with the same work
  double residual_share = 0;
  double unexplained_share = 0;  // of the critical path (CriticalPath)
  bool refused = false;          // no gain is stated: no faults, no standing what-ifs
  std::size_t nodes = 0;
  std::size_t edges = 0;
  std::uint64_t joined = 0;
  std::uint64_t unjoined = 0;
  std::uint64_t removed_edges = 0;
  std::uint64_t negative_delays = 0;
  CriticalPath path;
  std::vector<Blame> blame;
  std::vector<HeldDevice> held;
  std::vector<EarlyWaitSum> early_waits;  // of ranks without a device; most time first
  std::vector<BubbleShares> bubble;       // parallel to the ranks of the given pipeline
  std::vector<WhatIf> what_ifs;           // the standing scenarios
  std::vector<StepFault> faults;          // with the standing scenarios; largest gain first
  std::optional<BucketSearch> buckets;    // of the size of gradient messages; if a size saves time
  std::vector<WhatIf> asked;              // parallel to the requested scenarios
};

struct ExplanationInputs {
  std::span<const RankView> views;
  const Collectives& collectives;
  std::span<const std::string> roles;   // by view
  std::span<const HostPhases> phases;   // by view
  std::span<const UnitWaits> units{};   // by view; may be empty
  std::span<const Scenario> scenarios;  // requested scenarios
  const PipelineBubble* pipeline = nullptr;
  std::optional<StepGraph> graph{};            // of these views; absent: built here
  std::span<const std::vector<Step>> steps{};  // CountedSteps::of_view; empty: found here
  bool standing = true;
  const MessageModel* messages = nullptr;  // what_if.h
  ReplayVisitor visit{};                   // may be empty
  Workers threads{};                       // the questions that take longest are shared with a crew
  const StopFlag* stop = nullptr;
};

// Whether the replay predicts held-out steps worse than `tolerated`.
[[nodiscard]] bool mispredicts(const Explanation& explanation, double tolerated);

// By how much a gain may be off, as above; zero if the replay predicts held-out steps well, or no
// step could be held out.
[[nodiscard]] Ns gain_error(const Explanation& explanation);
// Whether the gain is too small compared with gain_error().
[[nodiscard]] bool doubts(const Explanation& explanation, Ns gain);

// Absent if no view has a step.
[[nodiscard]] std::optional<Explanation> explain(const ExplanationInputs& inputs);

}  // namespace stepscope
