// SPDX-License-Identifier: Apache-2.0
// Lines in which the Linux kernel says that it ended a program for a fault, or that a program does
// not come out of a call of the kernel (arch/x86/kernel/traps.c, arch/x86/mm/fault.c,
// kernel/hung_task.c, kernel/watchdog.c).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stepscope/event/incident.h"

namespace stepscope {

// Time, input and line are not set.
[[nodiscard]] std::optional<IncidentEvent> parse_kernel_line(std::string_view line);

// "mmfs26" of "cxiWaitEventWait+0x3c/0x90 [mmfs26]": the module of the innermost frame that has
// one, in the lines behind a message; else empty.
[[nodiscard]] std::string module_of_frames(std::span<const std::string_view> behind);

// "n1" of "Nov 30 12:00:00 n1 kernel: …"; empty for other lines.
[[nodiscard]] std::string_view host_of_syslog(std::string_view line);

}  // namespace stepscope
