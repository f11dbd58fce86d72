// SPDX-License-Identifier: Apache-2.0
// Sleeps on a word of memory that threads or processes share.
#pragma once

#include <atomic>
#include <cstdint>

#include "stepscope/base/quantity.h"

namespace stepscope::comm {

// Sleeps while `word` holds `seen`, until it is woken or `limit` has passed. May return early.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, Ns limit);
void futex_wake_all(std::atomic<std::uint32_t>& word);

}  // namespace stepscope::comm
