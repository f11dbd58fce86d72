// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/machine_stems.h"

#include <span>

#include "stepscope/base/embedded_text.h"

namespace stepscope {

std::span<const EmbeddedText> machine_texts();

std::vector<std::string_view> machine_stems() {
  std::vector<std::string_view> stems;
  for (const EmbeddedText& text : machine_texts())
    stems.push_back(text.file.substr(0, text.file.rfind('.')));
  return stems;
}

}  // namespace stepscope
