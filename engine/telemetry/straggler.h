// SPDX-License-Identifier: Apache-2.0
// Finds ranks that are late to collectives in step after step, from the arrivals in a JobWindow,
// during the run. Late means after the median arrival of the collective's members (for an even
// number the earlier of the middle two), on the job's clock. The work before a collective shows a
// slow rank; the time after it does not, because all ranks leave together.
// analysis/ranks/stragglers.h uses the same definition for traces.
//
// Cost: without the last rank to arrive, its peers would begin when the second to last arrived.
// That gain counts only as far as the peers' main threads really waited (the least of their
// stalls). A delay hidden behind computation costs nothing, and shows again at the next collective.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/telemetry/job_window.h"
#include "stepscope/base/quantity.h"
#include "stepscope/stats/lateness/late_decision.h"

namespace stepscope {

struct PersistentStraggler {
  int rank = 0;
  std::uint64_t collectives = 0;  // collectives in which it was compared
  std::uint64_t last = 0;         // in which it was last
  std::int64_t steps = 0;         // steps in which it was compared
  std::int64_t latest_steps = 0;  // in which its total lateness was the largest
  Ns late{};                      // sum over a step's collectives, mean over steps
  Ns latest{};                    // maximum over a step's collectives, mean over steps
  Ns cost{};                      // of all steps: wall time that the job lost
  double cost_share = 0;          // of the job's wall
  // Its lateness in the last 256 steps stands out (stats/lateness/excess.h), its median is above
  // the limits, and its main thread waits in these collectives for no longer than most other
  // ranks'.
  bool persistent = false;
  // The job's rate if this rank were as fast as the others; absent without tokens.
  std::optional<double> tokens_per_second{};
  std::optional<double> tokens_per_second_without{};
};

struct LatenessOptions {
  LateLimits limits{};
  Ns clock_uncertainty{};  // differences up to this are ignored
};

// The lateness of a long run, added up stretch by stretch, so that arrivals need not be kept. A
// collective counts if all its members reported it in the same stretch.
class Lateness {
 public:
  explicit Lateness(const LatenessOptions& options = {}) : options_(options) {}
  void add(const JobWindow& stretch);
  // Like late_ranks() of all stretches in one.
  [[nodiscard]] std::vector<PersistentStraggler> ranks() const;

 private:
  struct Account {
    int rank = 0;
    std::uint64_t collectives = 0;
    std::uint64_t last = 0;
    Ns cost{};
    Ns stall{};  // of its main thread in the collectives
    Ns late{};
    Ns latest{};
    std::int64_t steps = 0;
    std::int64_t latest_steps = 0;
    std::vector<double> recent{};  // late in each of the last steps, ns
  };
  [[nodiscard]] bool waits_little(const Account& own) const;
  LatenessOptions options_;
  std::vector<Account> accounts_;  // by rank
  std::int64_t steps_ = 0;
  std::int64_t tokens_ = 0;
  Ns wall_{};
};

// All ranks that were ever late, the most expensive first. Empty if no collective has two members
// with arrivals. Messages and arrivals of unfinished steps are left out.
[[nodiscard]] std::vector<PersistentStraggler> late_ranks(const JobWindow& window,
                                                          const LatenessOptions& options = {});

}  // namespace stepscope
