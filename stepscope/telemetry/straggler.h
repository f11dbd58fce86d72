// SPDX-License-Identifier: Apache-2.0
// Ranks that come late to collectives step after step, from the arrivals in a JobWindow, while the
// job runs. Late = behind the median arrival of the collective's members (of an even number the
// earlier of the middle two), on the job's clock: the work before a collective tells a slow rank,
// the time after it does not, because all leave together. The same definition as
// analysis/ranks/stragglers.h has for traces.
//
// What it costs: where a rank is the last to come, its peers would have begun when the last but one
// came. That gain counts only as far as the peers' main threads really waited (the least of their
// stalls): a delay hidden behind compute costs nothing, and shows again at the next collective.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/telemetry/job_window.h"

namespace stepscope {

struct PersistentStraggler {
  int rank = 0;
  std::uint64_t collectives = 0;  // in which it was compared
  std::uint64_t last = 0;         // in which it came last
  std::int64_t steps = 0;         // in which it was compared
  std::int64_t latest_steps = 0;  // in which it was later, in sum, than any other
  Ns late{};                      // in sum of a step's collectives, mean of the steps
  Ns latest{};                    // at the one of a step where it was latest, mean of the steps
  Ns cost{};                      // of all steps: wall time that the job lost
  double cost_share = 0;          // of the job's wall
  bool persistent = false;        // in its steps (stats/persistence.h), and above the floors
  // With a rank as fast as the others; absent without tokens.
  std::optional<double> tokens_per_second{};
  std::optional<double> tokens_per_second_without{};
};

struct LatenessOptions {
  double least_share = 0.03;  // of the step's wall; smaller lateness is noise
  Ns least_late{1'000'000};   // a step
  Ns clock_uncertainty{};     // differences up to this count as none
};

// A long run's lateness, stretch by stretch: arrivals need not be kept. A collective counts where
// all its members told of it in the same stretch.
class Lateness {
 public:
  explicit Lateness(const LatenessOptions& options = {}) : options_(options) {}
  void add(const JobWindow& stretch);
  // As late_ranks() of all stretches in one.
  [[nodiscard]] std::vector<PersistentStraggler> ranks() const;

 private:
  struct Account {
    int rank = 0;
    std::uint64_t collectives = 0;
    std::uint64_t last = 0;
    Ns cost{};
    Ns late{};
    Ns latest{};
    std::int64_t steps = 0;
    std::int64_t latest_steps = 0;
  };
  LatenessOptions options_;
  std::vector<Account> accounts_;  // by rank
  std::int64_t steps_ = 0;
  std::int64_t tokens_ = 0;
  Ns wall_{};
};

// Of all ranks that ever came late, the costliest first. Empty where no collective has two members
// with arrivals. Messages are left out, and arrivals of steps that have not ended.
[[nodiscard]] std::vector<PersistentStraggler> late_ranks(const JobWindow& window,
                                                          const LatenessOptions& options = {});

}  // namespace stepscope
