// SPDX-License-Identifier: Apache-2.0
// A file that the build put into the program: cmake/embed_catalogue.cmake makes the function
// KIND_texts() of the JSON files in data/KINDs, in the order of their names.
#pragma once

#include <span>
#include <string_view>

namespace stepscope {

struct EmbeddedText {
  std::string_view file;  // its name without the folder
  std::string_view json;
};

}  // namespace stepscope
