// SPDX-License-Identifier: Apache-2.0
// What is said of a checked run, of a calibrated machine, and of the memory of a device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stepscope/fit/calibration.h"
#include "stepscope/fit/transfer_fit.h"
#include "stepscope/pipeline/calibrate/calibrate_from.h"
#include "stepscope/pipeline/check.h"
#include "stepscope/pipeline/memory.h"
#include "stepscope/say/message.h"

namespace stepscope {

// "Worth a look: idle (6 of 7 checks could be made)."
[[nodiscard]] Message check_sentence(const std::vector<CheckLine>& lines);

// The fit whose start and rate speak for the links: an all-reduce of the largest group, else any
// collective of the largest group. Null without a fit.
[[nodiscard]] const TransferFit* speaking_fit(std::span<const TransferFit> fits);
// The peaks, the memory, the links (alpha and beta), and how well the model agrees.
[[nodiscard]] Message calibrate_sentence(const CalibrateResult& result,
                                         std::span<const TransferFit> fits);
// The links, and how well the models agree. REQUIRES: a fit.
[[nodiscard]] Message calibrate_sentence(const CalibrateFromResult& result);

// "At its peak device 0 holds 12.3 GB: 45.2 % are activations, …" of the device that holds most.
[[nodiscard]] Message memory_sentence(const MemoryResult& result);
// The same of one device.
[[nodiscard]] Message device_memory_sentence(const AccountedSnapshot& s,
                                             const DeviceMemoryAccount& d);
// "device 0 of rank 3".
[[nodiscard]] Message place_in_words(const AccountedSnapshot& s, int device);
// Uses (MemoryUse) with bytes, largest first.
[[nodiscard]] std::vector<std::size_t> uses_by_size(const MemoryInstant& at);

}  // namespace stepscope
