// SPDX-License-Identifier: Apache-2.0
// Frames of Python in the output of a process: of tracebacks, and of the dump that Python writes as
// a signal ends it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

// Whether a line, without a launcher's prefix, is a frame: `  File "/w/train.py", line 120, in f`.
[[nodiscard]] bool is_python_frame(std::string_view text);

// "train.py:120" of a frame of the program. Absent for a frame of a library.
[[nodiscard]] std::optional<std::string> frame_place(std::string_view text);

// "all_reduce (distributed_c10d.py:2501)" of a frame of faulthandler: `  File
// "…/distributed_c10d.py", line 2501 in all_reduce`.
[[nodiscard]] std::optional<std::string> faulthandler_place(std::string_view text);

}  // namespace stepscope
