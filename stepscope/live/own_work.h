// SPDX-License-Identifier: Apache-2.0
// The own work of ranks that do the same in each step: the wall time of a step without waiting for
// others. Joins what the ranks report of each step, and names those whose own work is longer than
// the median of their peers (late_rule.h), with the phase in which most of the difference lies.
//
// A step is closed when all ranks have reported it, `patience` after the first did, or earlier if
// too many are open. Memory: open steps, at most most_open_steps and most_open values (but 64
// steps); about 400 bytes a rank, 300 more with two to four ranks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/live/step_curve.h"
#include "stepscope/stats/lateness/late_rule.h"

namespace stepscope {

struct OwnStep {
  std::int64_t step = 0;
  double wall_ns = 0;
  double wait_ns = 0;
  std::int64_t run = 0;  // of the rank; a later one begins anew
  std::span<const std::pair<std::string, double>> phases_ns{};
};

struct LateOwnWork {
  int rank = 0;
  bool late = true;        // else it is late no more
  std::int64_t step = -1;  // at which this was found
  std::int64_t since = -1;
  double late_ns = 0;
  double step_ns = 0;
  std::string phase{};  // empty: unknown, or no single one
};

class OwnWork {
 public:
  static constexpr double patience = 5;  // seconds
  static constexpr std::size_t most_open = std::size_t{1} << 22;
  static constexpr std::size_t most_open_steps = 8192;

  explicit OwnWork(std::size_t ranks);

  // `rank` of the job; ranks beyond the number of ranks are left out. False: it is one of those,
  // or this step of the rank is known or closed.
  bool add(int rank, const OwnStep& step, double now);
  // A round about which everything is known: own work in ns a step, by rank; NaN: unknown.
  void add_round(std::span<const float> own_ns, double step_ns, std::int64_t step);
  void close_old(double now);

  [[nodiscard]] std::size_t ranks() const { return rule_.members(); }
  // What has changed since the last call, in the order in which it was found.
  [[nodiscard]] std::vector<LateOwnWork> take_changes() { return std::exchange(changes_, {}); }
  // Steps that were closed since the last call.
  [[nodiscard]] std::vector<StepSample> take_steps() { return std::exchange(samples_, {}); }
  // The ranks that are late now.
  [[nodiscard]] std::vector<LateOwnWork> late() const;

 private:
  struct Open {
    double since = 0;
    std::size_t count = 0;
    double wall_sum = 0;
    double wait_sum = 0;
    std::vector<float> own{};  // by slot; NaN: not reported
  };

  [[nodiscard]] std::size_t slot(int rank);
  void close(std::map<std::int64_t, Open>::iterator open);
  void judge(std::span<const float> own_ns, double step_ns, std::int64_t step);
  [[nodiscard]] std::string phase_of(std::size_t slot, double late_ns);
  void begin_anew();

  LateRule rule_;
  std::vector<int> rank_of_;  // by slot, as ranks appear
  std::map<int, std::size_t> slots_;
  std::vector<std::int64_t> runs_;
  // How often a run began anew: of the ranks together, and of each. A rank that is behind has not
  // reported the newest run.
  std::uint64_t epoch_ = 0;
  std::vector<std::uint64_t> epochs_;
  std::map<std::int64_t, Open> open_;
  std::int64_t closed_ = -1;  // the last step that was closed
  std::vector<std::string> phases_;
  std::vector<std::vector<float>> recent_phases_;  // by slot and phase, a decayed mean
  std::vector<LateOwnWork> named_;                 // by slot; of those that are late
  std::vector<float> room_;
  std::vector<std::int64_t> last_steps_;  // numbers of the last rounds of the rule
  std::vector<LateOwnWork> changes_;
  std::vector<StepSample> samples_;
};

}  // namespace stepscope
