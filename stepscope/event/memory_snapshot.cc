// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/memory_snapshot.h"

#include <array>

namespace stepscope {

std::string_view name_of(AllocatorAction action) {
  constexpr std::array<std::string_view, allocator_action_count> names = {
      "alloc",        "free_requested", "free_completed", "segment_alloc",
      "segment_free", "segment_map",    "segment_unmap",  "oom",
      "snapshot",     "other"};
  return names[static_cast<std::size_t>(action)];
}

}  // namespace stepscope
