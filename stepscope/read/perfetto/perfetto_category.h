// SPDX-License-Identifier: Apache-2.0
// The category of a row in torch.profiler's .pftrace, which does not write one. Arguments that only
// one kind of row has decide. Operators and annotations have the same arguments, so the name
// decides there.
#pragma once

#include <string_view>

#include "stepscope/read/perfetto/perfetto_arguments.h"
#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

// Returns a value of a Chrome trace's `cat` ("cpu_op", "cuda_runtime", …), or "other" if undecided.
[[nodiscard]] std::string_view category_without_word(std::string_view name,
                                                     const RawEvent& arguments,
                                                     const ArgumentHints& hints);

// The category of a GPU render stage by its name: "Kernel", "Memcpy", "Memset", "Annotation".
[[nodiscard]] std::string_view category_of_stage(std::string_view stage);

}  // namespace stepscope
