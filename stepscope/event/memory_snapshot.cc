// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/memory_snapshot.h"

#include "stepscope/base/enum_names.h"

namespace stepscope {

std::string_view name_of(AllocatorAction action) {
  constexpr auto names = enum_names<AllocatorAction::other>;
  return names[static_cast<std::size_t>(action)];
}

}  // namespace stepscope
