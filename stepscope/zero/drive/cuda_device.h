// SPDX-License-Identifier: Apache-2.0
// A CUDA device by NVIDIA's driver, which is loaded when the first device is opened. Without
// STEPSCOPE_CUDA in the build, every function refuses by name.
#pragma once

#include <memory>

#include "stepscope/base/result.h"
#include "stepscope/zero/drive/device.h"

namespace stepscope::zero {

// An error if this build has no CUDA. Asks no driver.
[[nodiscard]] Result<Done> cuda_in_build();
// The devices of this machine. Errors: cuda_in_build(), no driver, no device.
[[nodiscard]] Result<int> cuda_devices();
// As OpenDevice. Errors: those of cuda_devices(); no device of this number; the driver's.
//
// Instants: each copy is between two events of its stream, whose distance to a reference event of
// known host time the driver measures (to about 0.5 µs). The reference is renewed every second. An
// instant is neither before the copy's submission nor after wait() saw its end.
[[nodiscard]] Result<std::unique_ptr<Device>> open_cuda_device(int number, int copies);

}  // namespace stepscope::zero
