// SPDX-License-Identifier: Apache-2.0
// The device's activity during the host's phases: the instants of a profile's samples are looked up
// in the time budget of the sampled process's rank. A host that stands still costs nothing while
// the device is busy.
//
// A sample with a duration gives each category the time of its overlap. A sample without a duration
// counts as one and belongs to the category at its instant. The categories and `outside` of a phase
// therefore sum exactly to its samples.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/say/message.h"
#include "stepscope/stack/phases_of.h"

namespace stepscope {

// In the profile's unit.
struct DeviceMeanwhile {
  std::array<double, budget_category_count> device{};
  double outside = 0;  // before, between and after the steps

  [[nodiscard]] double inside() const;  // the sum over `device`
  [[nodiscard]] double idle() const;    // of its idle categories
  DeviceMeanwhile& operator+=(const DeviceMeanwhile& other);
};

struct JoinedPhase {
  std::uint32_t phase = 0;
  std::uint32_t pass = 0;
  double weight = 0;
  DeviceMeanwhile meanwhile;
};

struct JoinedThread {
  std::uint32_t thread = 0;  // index into Profile::threads
  double weight = 0;         // of its samples with an instant
  DeviceMeanwhile meanwhile;
  std::vector<JoinedPhase> phases;  // by phase and pass, largest first
};

struct StackJoin {
  Ns first{};  // instants of the samples, on the clock of the trace
  Ns last{};
  std::vector<JoinedThread> threads;  // threads of the input with samples, in the profile's order
};

struct JoinQuestion {
  Clock clock = Clock::relative;  // of the trace
  std::optional<Ns> offset{};     // from the user
  bool gapless = false;           // the user states that no sample is missing
};

// The reason why a profile cannot be put on the clock of a trace. Empty if it can: with `offset`,
// or because both count from the UNIX epoch.
[[nodiscard]] Message why_not_joined(const ProfileInput& input, const JoinQuestion& question);

// Joins the samples of one of Profile::inputs. `offset` converts their clock to that of `pieces`
// (budget_pieces()). Samples whose instant overflows are outside.
[[nodiscard]] StackJoin join_stacks(const Profile& profile, const NodePhases& phases,
                                    std::uint32_t input, Ns offset,
                                    std::span<const BudgetPiece> pieces);

}  // namespace stepscope
