// SPDX-License-Identifier: Apache-2.0
// What a calibration found, in one sentence.
#pragma once

#include <span>
#include <string>

#include "stepscope/fit/transfer_fit.h"
#include "stepscope/pipeline/calibrate/calibrate.h"
#include "stepscope/pipeline/calibrate/calibrate_from.h"

namespace stepscope {

// The fit whose start and rate speak for the links: an all-reduce of the largest group, else any
// collective of the largest group. Null without a fit.
[[nodiscard]] const TransferFit* speaking_fit(std::span<const TransferFit> fits);

// The peaks, the memory, the links (alpha and beta), and how well the model agrees.
[[nodiscard]] std::string calibrate_sentence(const CalibrateResult& result,
                                             std::span<const TransferFit> fits);
// The links, and how well the models agree. REQUIRES: a fit.
[[nodiscard]] std::string calibrate_sentence(const CalibrateFromResult& result);

}  // namespace stepscope
