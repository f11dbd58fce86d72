// SPDX-License-Identifier: Apache-2.0
// The median of summary.h for callers that compute very many, or of very many values.
#pragma once

#include <vector>

namespace stepscope {

// Reorders the values and may drop some. REQUIRES: a value, and no NaN.
[[nodiscard]] double fast_median(std::vector<double>& values);

}  // namespace stepscope
