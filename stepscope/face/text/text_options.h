// SPDX-License-Identifier: Apache-2.0
// How the terminal shows a result.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope {

enum class TextDetail : std::uint8_t {
  brief,  // the answer and what to try
  usual,  // also where the step goes; at most 40 lines however many ranks
  all     // every table
};

struct TextOptions {
  int width = 100;
  bool colour = false;
  TextDetail detail = TextDetail::usual;
  std::string details{};  // where more is to be seen ("report.html"), or empty
};

}  // namespace stepscope
