// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/projection/project_text.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/report/projection/project_sentence.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

std::string changes_table(const Projection& p, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"recorded", format_seconds(p.recorded), "-", "the traces"});
  for (const ProjectedChange& c : p.changes)
    rows.push_back({std::string(projected_part_names[static_cast<std::size_t>(c.part)]),
                    format_signed_seconds(c.seconds), format_seconds(c.deviation), c.source});
  rows.push_back({"projected", format_seconds(p.step), "", ""});
  return text_table({{"part", false}, {"a step"}, {"±"}, {"from", false, 90}}, std::move(rows),
                    width);
}

std::string width_table(const Projection& p, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const ProjectedWidth& w : p.width)
    rows.push_back(
        {w.what, format_seconds(w.seconds), format_percent(share_or_zero(w.seconds, p.step))});
  return text_table({{"why the interval is wide", false}, {"±"}, {"of the step"}}, std::move(rows),
                    width);
}

}  // namespace

std::string project_text(const ProjectResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(project_sentence(r), width) + '\n';
  out += changes_table(r.projection, width);
  if (!r.projection.width.empty()) out += '\n' + width_table(r.projection, width);
  std::vector<std::string> notes = r.projection.notes;
  notes.insert(notes.end(), r.warnings.begin(), r.warnings.end());
  return out + notes_text(notes, width) + details_line(options);
}

}  // namespace stepscope
