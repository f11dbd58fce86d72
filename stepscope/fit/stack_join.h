// SPDX-License-Identifier: Apache-2.0
// What a device did while the host sat in its phases: the instants of a profile's samples looked up
// in the time budget of the rank whose process was sampled. A host that stands still costs nothing
// where the device is busy meanwhile.
//
// A sample with a duration gives each category the time of its overlap; one without stands for
// itself and falls to the category at its instant. So the categories and `outside` of a phase sum
// to its samples, exactly.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/stack/phases_of.h"

namespace stepscope {

// In the unit of the profile.
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
  std::uint32_t thread = 0;  // of Profile::threads
  double weight = 0;         // of its samples with an instant
  DeviceMeanwhile meanwhile;
  std::vector<JoinedPhase> phases;  // by phase and pass, largest first
};

struct StackJoin {
  Ns first{};  // instants of the samples, on the clock of the trace
  Ns last{};
  std::vector<JoinedThread> threads;  // of the input, those with samples; as in the profile
};

struct JoinQuestion {
  Clock clock = Clock::relative;  // of the trace
  std::optional<Ns> offset{};     // that somebody gave
  bool gapless = false;           // somebody says that no sample is missing
};

// Why the instants of a profile cannot be put on the clock of a trace; empty where they can, by
// `offset` or because both count from the UNIX epoch.
[[nodiscard]] std::string why_not_joined(const ProfileInput& input, const JoinQuestion& question);

// The samples of one of Profile::inputs. `offset` is what turns their clock into that of `pieces`
// (budget_pieces()). Samples whose instant overflows lie outside.
[[nodiscard]] StackJoin join_stacks(const Profile& profile, const NodePhases& phases,
                                    std::uint32_t input, Ns offset,
                                    std::span<const BudgetPiece> pieces);

}  // namespace stepscope
