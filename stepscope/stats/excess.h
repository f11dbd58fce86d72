// SPDX-License-Identifier: Apache-2.0
// The one test of lateness: whether an excess over peers, or over other steps, is more than its
// spread. It is robust, because other programs on the cores lengthen some steps and shorten none.
#pragma once

#include <cstddef>
#include <span>

namespace stepscope {

// `excess`: by step, in any unit. The usual (median) excess is positive and more than three
// standard errors, and at least three of four steps have three tenths of it. The standard error is
// that of the median of normal values, from their median deviation. Two values must be alike (a
// factor of two); one tells nothing.
[[nodiscard]] bool stands_out(std::span<const double> excess);

// The step from which on an excess stands out that was not there before, or the number of steps if
// there is none: the steps are divided where
// their mean changes most. At least three steps have it, each more than any before, and the steps
// before have at most 0.35 of it.
[[nodiscard]] std::size_t begins_at(std::span<const double> excess);

}  // namespace stepscope
