// SPDX-License-Identifier: Apache-2.0
// What the text of a line shows of an error: whether it is one, whether it follows from another,
// and when it was written.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/event/incident.h"

namespace stepscope {

// "ERROR", "WARNING": a level of Python's logging.
[[nodiscard]] bool is_level_word(std::string_view word);
// "ValueError: …": the last line of a traceback. `text` has no launcher's prefix.
[[nodiscard]] bool is_exception_line(std::string_view text);
// Whether an exception is an error of a device or of communication. It counts also where no line of
// its traceback is there.
[[nodiscard]] bool is_of_device_or_group(std::string_view text);
// Whether a message says that another process or a signal ended first: a connection that its peer
// closed, an aborted communicator, an exit that the launcher reports of its children.
[[nodiscard]] bool is_consequence(std::string_view text);

// The time in a line: ISO dates, PyTorch's "[E626 05:06:30.9" and "E0626 05:06:30.9", syslog's
// "Nov 30 12:00:00", vLLM's "ERROR 11-30 12:00:00", dmesg -T's "[Mon Nov 30 12:00:00 2026]".
[[nodiscard]] std::optional<WrittenTime> written_time(std::string_view line);

// "EI0006: ", "EH9999: " at the front: an error of CANN.
[[nodiscard]] bool is_cann_code(std::string_view text);

}  // namespace stepscope
