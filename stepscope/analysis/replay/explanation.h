// SPDX-License-Identifier: Apache-2.0
// Explains the time of the steps: the dependency graph of the recorded steps, its critical path,
// the causes of waiting, and the effect of changes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/blame.h"
#include "stepscope/analysis/replay/bubble_shares.h"
#include "stepscope/analysis/replay/bucket_change.h"
#include "stepscope/analysis/replay/early_waits.h"
#include "stepscope/analysis/replay/faults.h"
#include "stepscope/analysis/replay/path_share.h"
#include "stepscope/analysis/replay/what_if.h"

namespace stepscope {

// Replay errors above the first make a what-if approximate. Above the second there are no what-ifs.
inline constexpr double replay_error_warning = 0.02;
inline constexpr double replay_error_refused = 0.05;

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
  Ns step{};  // replayed
  double replay_error = 0;
  double residual_share = 0;
  bool refused = false;  // the replay is off by more than replay_error_refused: no what-ifs
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
  std::optional<StepGraph> graph{};  // of these views; absent: built here
  bool standing = true;
  const MessageModel* messages = nullptr;  // what_if.h
  unsigned threads = 1;
  const StopFlag* stop = nullptr;
};

// Absent if no view has a step.
[[nodiscard]] std::optional<Explanation> explain(const ExplanationInputs& inputs);

}  // namespace stepscope
