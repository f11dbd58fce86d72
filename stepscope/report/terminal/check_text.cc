// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/check_text.h"

#include <fmt/format.h>

#include "stepscope/report/sentences/check_sentence.h"
#include "stepscope/report/terminal/compare_text.h"
#include "stepscope/report/terminal/log_text.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/words/format.h"
#include "stepscope/words/phrases.h"

namespace stepscope {

std::string check_text(const CheckResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(check_sentence(r.lines), width) + '\n';
  for (const CheckLine& l : r.lines) {
    const char* mark = l.status == CheckStatus::good   ? "ok"
                       : l.status == CheckStatus::look ? "look"
                                                       : "-";
    out += fmt::format("  {:<5} {:<14} {}\n", mark, spaced(l.name), printable(l.sentence));
  }
  out += outlier_text(r.kind == CheckedKind::list ? "the list" : "these steps", r.facts.arm);
  if (r.log) out += log_text(*r.log, options);
  if (!r.record_next.empty()) out += "\nRecord next:\n";
  for (const std::string& what : r.record_next) out += "  " + what + '\n';
  out += notes_text(r.warnings, width);
  return out;
}

}  // namespace stepscope
