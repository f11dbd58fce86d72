// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/projection/project_text.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

std::string changes_table(const Projection& p, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"recorded", format_seconds(p.recorded), "-", "the traces"});
  for (const ProjectedChange& c : p.changes)
    rows.push_back({std::string(projected_part_names[static_cast<std::size_t>(c.part)]),
                    format_signed_seconds(c.seconds), format_seconds(c.deviation), say(c.source)});
  rows.push_back({"projected", format_seconds(p.step), "", ""});
  return text_table({{"part", false}, {"a step"}, {"±"}, {"from", false, 90}}, std::move(rows),
                    width);
}

std::string width_table(const Projection& p, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const ProjectedWidth& w : p.width)
    rows.push_back(
        {say(w.what), format_seconds(w.seconds), format_percent(share_or_zero(w.seconds, p.step))});
  return text_table({{"why the interval is wide", false}, {"±"}, {"of the step"}}, std::move(rows),
                    width);
}

std::string degrees_in_words(const JobShape& shape) {
  std::string out;
  const auto add = [&](const char* name, std::int64_t degree) {
    if (degree > 1) out += fmt::format("{}{} {}", out.empty() ? "" : " ", name, degree);
  };
  add("dp", shape.dp);
  add("tp", shape.tp);
  add("cp", shape.cp);
  add("ep", shape.ep);
  add("pp", shape.pp);
  return out;
}

Message job_in_words(const JobShape& shape) {
  const std::string degrees = degrees_in_words(shape);
  const bool any = !degrees.empty() || shape.micro_batches;
  return msg::job_of(
      shape.devices(),
      any ? msg::degrees(degrees, shape.micro_batches, shape.micro_batch) : Message());
}

}  // namespace

Message project_sentence(const ProjectResult& r) {
  const Projection& p = r.projection;
  return msg::projected_step(job_in_words(p.shape), Seconds{p.step}, Seconds{p.low},
                             Seconds{p.high}, job_in_words(p.recorded_shape), Seconds{p.recorded});
}

std::string project_text(const ProjectResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(project_sentence(r), width) + '\n';
  out += changes_table(r.projection, width);
  if (!r.projection.width.empty()) out += '\n' + width_table(r.projection, width);
  Messages notes = r.projection.notes;
  append(notes, r.warnings);
  return out + notes_text(notes, width) + details_line(options);
}

}  // namespace stepscope
