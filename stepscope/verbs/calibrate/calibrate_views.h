// SPDX-License-Identifier: Apache-2.0
// What people and programs see of a measured machine, or of one that was fitted to benchmarks:
// sentences, the public JSON, the terminal's text.
#pragma once

#include <span>
#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/fit/calibration.h"
#include "stepscope/fit/transfer_fit.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/calibrate/calibrate_from.h"

namespace stepscope {

// The fit whose start and rate speak for the links: an all-reduce of the largest group, else any
// collective of the largest group. Null without a fit.
[[nodiscard]] const TransferFit* speaking_fit(std::span<const TransferFit> fits);
// The peaks, the memory, the links (alpha and beta), and how well the model agrees.
[[nodiscard]] Message calibrate_sentence(const CalibrateResult& result,
                                         std::span<const TransferFit> fits);
// The links, and how well the models agree. REQUIRES: a fit.
[[nodiscard]] Message calibrate_sentence(const CalibrateFromResult& result);

// `file`: the machine file that was written.
[[nodiscard]] Json calibrate_tree(const CalibrateResult& result, const std::string& file);
// REQUIRES: a fit.
[[nodiscard]] Json calibrate_tree(const CalibrateFromResult& result, const std::string& file);

// The answer; the measured peaks, largest products, memory, drives and links, compared with the
// fitted machine's.
[[nodiscard]] std::string calibration_text(const CalibrateResult& result,
                                           const TextOptions& options = {});

// The measured benchmarks and kernels, compared with the fits and with the machine before and
// after. REQUIRES: a machine.
[[nodiscard]] std::string benchmark_text(const CalibrateFromResult& result,
                                         const TextOptions& options = {});

}  // namespace stepscope
