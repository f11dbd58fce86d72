// SPDX-License-Identifier: Apache-2.0
// The test of a batch of steps: whether an excess over peers, or over other steps, is more than its
// spread (late_decision.h). It is robust, because other programs on the cores lengthen some steps
// and shorten none.
#pragma once

#include <cstddef>
#include <span>

#include "stepscope/stats/lateness/late_decision.h"

namespace stepscope {

// `excess`: by step, in any unit. The usual (median) excess is more than `sure` standard errors,
// and three of four steps have three tenths of it. The standard error is that of the median of
// normal values, from their median deviation. Two values must be alike (a factor of two). One value
// shows nothing.
[[nodiscard]] bool stands_out(std::span<const double> excess, double sure = sure_once);

// The first step of an excess that stands out and was not there before; without such a step, the
// number of steps. The steps are divided where their mean changes most. At least three steps have
// the excess, each more than any before, and the steps before have at most 0.35 of it.
[[nodiscard]] std::size_t begins_at(std::span<const double> excess);

}  // namespace stepscope
