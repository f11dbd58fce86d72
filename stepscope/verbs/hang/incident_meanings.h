// SPDX-License-Identifier: Apache-2.0
// What the numbers and names of devices, adapters and kernels mean. Nothing where it is not known.
#pragma once

#include <cstdint>
#include <string_view>

#include "stepscope/say/message.h"

namespace stepscope {

// The status of a completed request of InfiniBand (ibv_wc_status).
[[nodiscard]] Value meaning_of_status(std::int64_t status);

// By NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html).
[[nodiscard]] Value meaning_of_xid(std::int64_t xid);

// "SIGKILL" of 9.
[[nodiscard]] Value signal_name(std::int64_t signal);

// The file system of a module of the Linux kernel, by the names that their projects give.
[[nodiscard]] Value file_system_of(std::string_view module);

}  // namespace stepscope
