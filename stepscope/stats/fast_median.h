// SPDX-License-Identifier: Apache-2.0
// The median of summary.h for callers that compute very many, or of very many values.
#pragma once

#include <vector>

namespace stepscope {

// Reorders the values, of which there must be one, and may drop some. NaN values are not allowed.
[[nodiscard]] double fast_median(std::vector<double>& values);

}  // namespace stepscope
