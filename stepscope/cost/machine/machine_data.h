// SPDX-License-Identifier: Apache-2.0
// The texts of data/machines/*.json, put into the program by the build.
#pragma once

#include <span>
#include <string_view>

namespace stepscope {

struct MachineText {
  std::string_view file;
  std::string_view json;
};

[[nodiscard]] std::span<const MachineText> machine_texts();

}  // namespace stepscope
