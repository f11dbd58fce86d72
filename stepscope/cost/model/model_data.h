// SPDX-License-Identifier: Apache-2.0
// The texts of data/models/*.json, put into the program by the build.
#pragma once

#include <span>
#include <string_view>

namespace stepscope {

struct ModelText {
  std::string_view file;
  std::string_view json;
};

[[nodiscard]] std::span<const ModelText> model_texts();

}  // namespace stepscope
