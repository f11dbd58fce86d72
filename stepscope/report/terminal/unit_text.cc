// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/unit_text.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/diagnose/unit_fetches.h"
#include "stepscope/report/sentences/names.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

constexpr std::size_t most_unit_rows = 8;

std::string distance_text(const UnitRow& row) {
  if (!row.distance) return "none";
  return *row.distance == 0 ? "-" : std::to_string(*row.distance);
}

}  // namespace

std::string unit_waits_text(const JobResult& job, std::size_t width) {
  if (job.units.empty()) return {};
  std::string out = wrapped(
      msg::units_fetched(name_of(unit_source_names, unit_source(job)), fetches_in_words(job)),
      width);
  std::vector<std::vector<std::string>> rows;
  std::size_t waited = 0;
  for (const UnitRow& u : job.units) {
    if (u.late + u.misses == 0) continue;
    if (++waited > most_unit_rows) continue;
    rows.push_back({printable(u.unit), name_of(unit_pass_names, u.pass), std::to_string(u.hits),
                    std::to_string(u.late), std::to_string(u.misses), format_time(u.late_time),
                    format_time(u.transfer), std::to_string(u.ahead), distance_text(u)});
  }
  if (rows.empty()) return out;
  out += text_table({{.title = "unit", .right = false, .longest = 40},
                     {.title = "pass", .right = false},
                     {.title = "hit"},
                     {.title = "late"},
                     {.title = "miss"},
                     {.title = "late a step"},
                     {.title = "transfer"},
                     {.title = "ahead"},
                     {.title = "hidden by"}},
                    std::move(rows), width);
  if (waited > most_unit_rows) out += fmt::format("  … and {} more\n", waited - most_unit_rows);
  Ns exposed{};
  for (const UnitReduceRow& u : job.unit_reduces) exposed += u.exposed;
  if (exposed > Ns{0})
    out += wrapped(msg::reducing_exposed(exposed, printable(job.unit_reduces.front().unit),
                                         job.unit_reduces.front().exposed),
                   width);
  return out;
}

}  // namespace stepscope
