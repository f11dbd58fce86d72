// SPDX-License-Identifier: Apache-2.0
// How the terminal shows a result.
#pragma once

#include <string>

namespace stepscope {

struct TextOptions {
  int width = 100;
  bool colour = false;
  std::string details{};  // where more is to be seen ("report.html"), or empty
};

}  // namespace stepscope
