// SPDX-License-Identifier: Apache-2.0
// The ordered list of trace formats; the order is the priority of detection.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/read_control.h"
#include "stepscope/read/nsys/nsys.h"

namespace stepscope {

struct Format {
  std::string_view name;
  // Whether the first (inflated) bytes of a file look like this format.
  bool (*matches)(std::string_view head);
  Result<std::vector<Trace>> (*read)(const std::string& path, const ReadControl& control);
  // Name endings of files that are tried in a directory.
  std::span<const std::string_view> endings;
};

[[nodiscard]] std::span<const Format> formats();

}  // namespace stepscope
