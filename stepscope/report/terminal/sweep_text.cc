// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/sweep_text.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/report/sentences/sweep_sentence.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

std::string beside_best(const SweptValue& v) {
  if (!v.beside_best) return "best";
  return fmt::format("{:+.1f} %", (v.beside_best->ratio - 1) * 100);
}

std::string interval_of(const SweptValue& v) {
  if (!v.beside_best || !v.beside_best->interval) return "-";
  const auto [low, high] = *v.beside_best->interval;
  return fmt::format("{:+.1f} to {:+.1f} %", (low - 1) * 100, (high - 1) * 100);
}

}  // namespace

std::string sweep_text(const SweepResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(printable(sweep_sentence(r)), width) + '\n';
  std::vector<std::vector<std::string>> rows;
  for (const SweptValue& v : r.sweep.values)
    rows.push_back({printable(v.value), std::to_string(v.arm.steps), format_time(v.arm.median_ns),
                    beside_best(v), interval_of(v), v.q ? fmt::format("{:.3f}", *v.q) : "-",
                    v.tie ? "tie" : ""});
  out += text_table({{printable(r.name), false},
                     {"steps"},
                     {"median"},
                     {"beside best"},
                     {"interval"},
                     {"q"},
                     {"", false}},
                    std::move(rows), width);
  return out + notes_text(r.warnings, width) + details_line(options);
}

}  // namespace stepscope
