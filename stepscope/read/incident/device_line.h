// SPDX-License-Identifier: Apache-2.0
// A line in which a driver, CUDA, HIP, a kernel's assertion or Ascend's CANN reports an error of a
// device. docs/reference/inputs.md has the sources of the formats.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepscope/event/incident.h"

namespace stepscope {

// Time, input, line and the rank of a launcher's prefix are not set; CANN writes its own time.
[[nodiscard]] std::optional<IncidentEvent> parse_device_error(std::string_view line);

// "CUDA error: …" to the end of the line. Absent if no error of CUDA or HIP is in `text`.
[[nodiscard]] std::optional<std::string_view> device_words(std::string_view text);

// The PCI address that the driver names behind "GPU ", as "0000:b3:00.0"; may be empty.
[[nodiscard]] std::string address_of_gpu(std::string_view line);

}  // namespace stepscope
