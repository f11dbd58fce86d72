// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/history/runs_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <vector>

#include "stepscope/report/sentences/compare_sentence.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

std::string instant(std::int64_t unix_ns) {
  return fmt::format("{:%Y-%m-%d %H:%M}",
                     fmt::gmtime(static_cast<std::time_t>(unix_ns / 1'000'000'000)));
}

std::string short_commit(const std::string& commit) { return printable(commit.substr(0, 8)); }

std::string change_of(const RunRow& row) {
  if (row.baseline) return "baseline";
  if (!row.beside) return "-";
  return format_signed_percent(row.beside->ratio - 1);
}

std::string verdict_of(const RunRow& row) {
  if (!row.beside) return "-";
  return row.beside->verdict == Verdict::not_enough_data
             ? "few steps"
             : std::string(name_of(row.beside->verdict));
}

std::string changes_text(const RunsResult& r, std::size_t width) {
  std::string out;
  for (const ChangePoint& c : r.changes)
    out +=
        wrapped(fmt::format("From {} on, steps take {} in the median instead of {} ({}).",
                            printable(r.rows[c.at].run.name), format_time(c.after),
                            format_time(c.before), format_signed_percent(c.after / c.before - 1)),
                width);
  return out.empty() ? out : '\n' + out;
}

}  // namespace

std::string runs_sentence(const RunsResult& r) {
  const RunRow& newest = r.rows.back();
  if (r.newest)
    return fmt::format("The newest run, {} (B), beside {} (A): {}", printable(newest.run.name),
                       printable(r.newest->label_a), compare_sentence(*r.newest));
  if (newest.baseline)
    return fmt::format("The newest run, {}, is one of the baseline.", printable(newest.run.name));
  return fmt::format("There is one run, {}. Its steps take {} in the median.",
                     printable(newest.run.name), format_time(newest.median_ns));
}

std::string runs_text(const RunsResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const auto added = std::ranges::count(r.rows, true, &RunRow::added);
  std::string out = fmt::format("{} in {}, {} of them new\n\n", counted(r.rows.size(), "run"),
                                printable(r.history), added);
  out += wrapped(runs_sentence(r), width) + changes_text(r, width) + '\n';
  std::vector<std::vector<std::string>> rows;
  for (const RunRow& row : r.rows)
    rows.push_back({printable(row.run.name), instant(row.run.recorded_unix_ns),
                    short_commit(row.run.commit), printable(row.run.tag),
                    std::to_string(row.run.steps.wall_ns.size()), format_time(row.median_ns),
                    change_of(row), verdict_of(row),
                    row.run.mfu ? format_percent(*row.run.mfu) : "-", row.run.cause});
  out += text_table({{"run", false},
                     {"recorded (UTC)", false},
                     {"commit", false},
                     {"tag", false},
                     {"steps"},
                     {"median"},
                     {"change"},
                     {"verdict", false},
                     {"MFU"},
                     {"cause", false}},
                    std::move(rows), width);
  std::vector<std::string> notes = r.warnings;
  if (r.newest) notes.insert(notes.end(), r.newest->warnings.begin(), r.newest->warnings.end());
  return out + notes_text(notes, width);
}

std::string restored_text(const RestoredRun& r) {
  return fmt::format("{} of the run {} in {}\n", counted(r.digests, "digest"), printable(r.run),
                     printable(r.output));
}

}  // namespace stepscope
