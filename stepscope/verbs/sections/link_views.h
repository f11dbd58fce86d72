// SPDX-License-Identifier: Apache-2.0
// Clocks of hosts and fits of links: JSON and text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "stepscope/analysis/matching/clock_alignment.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/fit/transfer_fit.h"

namespace stepscope {

[[nodiscard]] Json clock_alignment_json(const ClockAlignment& clocks);
[[nodiscard]] Json link_fits_json(std::span<const TransferFit> fits);

// Empty for ranks of one host.
[[nodiscard]] std::string clocks_text(const ClockAlignment& clocks, std::size_t width);
// A table of the fits, and why others were refused. Empty without any.
[[nodiscard]] std::string link_fits_text(std::span<const TransferFit> fits, std::size_t width);

}  // namespace stepscope
