// SPDX-License-Identifier: Apache-2.0
// The category of a row of torch.profiler's .pftrace, which writes none: told by the arguments that
// only one kind of row has, and where operators and annotations have the same, by the name.
#pragma once

#include <string_view>

#include "stepscope/read/perfetto/perfetto_arguments.h"
#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

// In the words of a Chrome trace's `cat` ("cpu_op", "cuda_runtime", …); "other" for what could be
// anything.
[[nodiscard]] std::string_view category_without_word(std::string_view name,
                                                     const RawEvent& arguments,
                                                     const ArgumentHints& hints);

// Of a GPU render stage, by the name of the stage: "Kernel", "Memcpy", "Memset", "Annotation".
[[nodiscard]] std::string_view category_of_stage(std::string_view stage);

}  // namespace stepscope
