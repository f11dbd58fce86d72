// SPDX-License-Identifier: Apache-2.0
// A file that the build embeds in the program. cmake/embed_catalogue.cmake generates the function
// KIND_texts() from the files in data/KINDs, in the order of their names.
#pragma once

#include <span>
#include <string_view>

namespace stepscope {

struct EmbeddedText {
  std::string_view file;  // name without the folder
  std::string_view text;
};

}  // namespace stepscope
