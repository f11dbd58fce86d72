// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/transfer_rule.h"

#include <array>
#include <cmath>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t most_past = 64;
constexpr std::size_t fewest_past = 24;

}  // namespace

void TransferRule::add(double transfer_ns, double step_ns) {
  if (std::isnan(transfer_ns) || !(step_ns > 0)) return;
  if (last_.size() >= fewest_past + late_window) {
    if (!longer()) {
      room_.assign(last_.begin(), last_.end() - late_window);
      before_ = lower_median(room_);
      high_ = order_statistic(room_, room_.size() - 1 - room_.size() / 40);
    }
    const std::array beyond = {transfer_ns > high_ ? static_cast<float>(transfer_ns - before_)
                                                   : 0.0F};
    rule_.add(beyond, step_ns);
    if (longer()) return;
  }
  last_.push_back(static_cast<float>(transfer_ns));
  if (last_.size() > most_past + late_window) last_.pop_front();
}

}  // namespace stepscope
