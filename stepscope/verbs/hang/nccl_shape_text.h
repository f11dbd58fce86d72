// SPDX-License-Identifier: Apache-2.0
// Rings and trees of NCCL's communicators for the terminal. Communicators of one size and shape
// are shown once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "stepscope/verbs/hang/hang.h"

namespace stepscope {

// Empty if no communicator of two ranks or more has rings or trees.
[[nodiscard]] std::string nccl_shapes_text(const HangResult& result, std::size_t width);

// "24 × P2P/IPC/read, 2 × NET/IB/0".
[[nodiscard]] std::string transports_in_words(
    const std::map<std::string, std::uint64_t>& transports);
// Rings and connections of communicators that the log does not name. Empty without any.
[[nodiscard]] std::string loose_links_text(const NcclSetup& nccl, std::size_t width);

}  // namespace stepscope
