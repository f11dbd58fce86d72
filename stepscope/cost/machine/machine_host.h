// SPDX-License-Identifier: Apache-2.0
// What lies behind a device: its share of the host and of the host's drives, which hold what is
// offloaded. A figure that nobody gave is absent, and a plan that needs it is an error.
#pragma once

#include <optional>
#include <string>

#include "stepscope/base/quantity.h"

namespace stepscope {

// All figures are one device's share.
struct Host {
  std::optional<ByteRate> per_direction;  // device to host memory
  std::optional<ByteRate> memory_rate;  // of the host's memory: an optimizer on the CPU runs at it
  std::optional<Bytes> memory;
};

struct Nvme {
  std::optional<ByteRate> read;
  std::optional<ByteRate> write;
  std::optional<Bytes> capacity;
};

}  // namespace stepscope
