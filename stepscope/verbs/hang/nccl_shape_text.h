// SPDX-License-Identifier: Apache-2.0
// Rings and trees of NCCL's communicators for the terminal. Communicators of one size and shape
// are shown once.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/verbs/hang/hang.h"

namespace stepscope {

// Empty if no communicator of two ranks or more has rings or trees.
[[nodiscard]] std::string nccl_shapes_text(const HangResult& result, std::size_t width);

}  // namespace stepscope
