// SPDX-License-Identifier: Apache-2.0
// Student's t distribution with any real number of degrees of freedom.
#pragma once

namespace stepscope {

// P(|T| > t) for t >= 0 and `degrees` > 0; infinite degrees give the normal distribution. By the
// continued fraction of the incomplete beta function (DLMF 8.17.22); relative error below 1e-10.
[[nodiscard]] double student_t_tails(double t, double degrees);

// The t that |T| exceeds with probability `alpha`, which is in (0, 1).
[[nodiscard]] double student_t_critical(double alpha, double degrees);

}  // namespace stepscope
