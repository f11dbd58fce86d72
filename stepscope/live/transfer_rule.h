// SPDX-License-Identifier: Apache-2.0
// Tells when the transfers of a communicator take lastingly longer than before: a slow link, or
// traffic of others. Input: for each round (a step, about) the sum over its collectives of the
// shortest duration in the group, which is the transfer without waiting (live_communicator.h).
//
// The past is 64 rounds (24 at least) before the last 8. A round that takes longer than 98 % of
// them, is beyond their median by that difference, another by nothing. This is judged as the
// lateness of a group of one member (late_rule.h): by 3 % of the step and 1 ms in 6 of the last 8
// rounds, and far beyond what is usual. While the transfers are longer the past stays as it was.
//
// Memory: 700 bytes.
#pragma once

#include <deque>
#include <vector>

#include "stepscope/stats/lateness/late_rule.h"

namespace stepscope {

class TransferRule {
 public:
  // A round: ns of transfer, NaN if not all collectives are known; `step_ns`: the time of the
  // round, 0 if unknown (then nothing is judged).
  void add(double transfer_ns, double step_ns);

  [[nodiscard]] bool longer() const { return rule_.named(0); }
  // A round: the median before, and with what is longer now, as a mean of the longer ones of the
  // last eight.
  [[nodiscard]] double before_ns() const { return before_; }
  [[nodiscard]] double now_ns() const { return before_ + rule_.lateness(0); }

 private:
  LateRule rule_{1};
  std::deque<float> last_;  // past and the last 8
  std::vector<float> room_;
  double before_ = 0;
  double high_ = 0;  // of the past
};

}  // namespace stepscope
