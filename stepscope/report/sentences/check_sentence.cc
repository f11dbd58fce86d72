// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/check_sentence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stepscope/say/phrases.h"

namespace stepscope {

std::string check_sentence(const std::vector<CheckLine>& lines) {
  std::vector<std::string> names;
  std::size_t known = 0;
  for (const CheckLine& l : lines) {
    if (l.status == CheckStatus::look) names.push_back(spaced(l.name));
    if (l.status != CheckStatus::unknown) ++known;
  }
  if (names.empty())
    return fmt::format("Nothing stands out in {} of {} checks; the others lack data.", known,
                       lines.size());
  return fmt::format("Worth a look: {} ({} of {} checks could be made).", fmt::join(names, ", "),
                     known, lines.size());
}

}  // namespace stepscope
