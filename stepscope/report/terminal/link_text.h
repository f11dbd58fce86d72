// SPDX-License-Identifier: Apache-2.0
// The correction of each host's clock and the fits of transfer time by size for the terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "stepscope/analysis/matching/clock_alignment.h"
#include "stepscope/fit/transfer_fit.h"

namespace stepscope {

// Empty for ranks of one host.
[[nodiscard]] std::string clocks_text(const ClockAlignment& clocks, std::size_t width);
// A table of the fits, and why others were refused. Empty without any.
[[nodiscard]] std::string link_fits_text(std::span<const TransferFit> fits, std::size_t width);

}  // namespace stepscope
