// SPDX-License-Identifier: Apache-2.0
// The correction of each host's clock and the fits of transfer time by size as JSON
// (docs/reference/json.md).
#pragma once

#include <span>

#include "stepscope/analysis/matching/clock_alignment.h"
#include "stepscope/fit/transfer_fit.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json clock_alignment_json(const ClockAlignment& clocks);
[[nodiscard]] Json link_fits_json(std::span<const TransferFit> fits);

}  // namespace stepscope
