// SPDX-License-Identifier: Apache-2.0
// The work that a progress bar shows, by the text before it.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/event/job_log.h"

namespace stepscope {

// The note on a bar that is not of training: of validation, of loading, of data or of saving. Null
// for a bar that may be of training.
[[nodiscard]] const char* other_work(std::string_view description);

}  // namespace stepscope
