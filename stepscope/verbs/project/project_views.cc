// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/project/project_views.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/analyze_json.h"

namespace stepscope {

namespace {

constexpr double ns_a_second = 1e9;

Json shape_json(const JobShape& s) {
  return {{"devices", s.devices()},
          {"dp", s.dp},
          {"tp", s.tp},
          {"cp", s.cp},
          {"ep", s.ep},
          {"pp", s.pp},
          {"micro_batches", s.micro_batches ? Json(*s.micro_batches) : Json(nullptr)},
          {"micro_batch", s.micro_batch ? Json(*s.micro_batch) : Json(nullptr)}};
}

Json answer_json(const ProjectResult& r) {
  return {{"sentence", say_stopped(project_sentence(r))}};
}

Json step_json(const Projection& p) {
  return {{"ns", p.step * ns_a_second},
          {"low_ns", p.low * ns_a_second},
          {"high_ns", p.high * ns_a_second}};
}

Json changes_json(const Projection& p) {
  Json rows = Json::array();
  for (const ProjectedChange& c : p.changes)
    rows.push_back({{"part", projected_part_names[static_cast<std::size_t>(c.part)]},
                    {"ns", c.seconds * ns_a_second},
                    {"deviation_ns", c.deviation * ns_a_second},
                    {"source", say(c.source)}});
  return rows;
}

}  // namespace

Json project_tree(const ProjectResult& r) {
  const Projection& p = r.projection;
  Json width = Json::array();
  for (const ProjectedWidth& w : p.width)
    width.push_back({{"what", say(w.what)}, {"deviation_ns", w.seconds * ns_a_second}});
  Json notes = say_all(p.notes);
  for (const Message& w : r.warnings) notes.push_back(say(w));
  return {{"schema", "stepscope.project/1"},
          {"version", r.version},
          {"inputs", inputs_json(r.inputs)},
          {"answer", answer_json(r)},
          {"recorded", shape_json(p.recorded_shape)},
          {"recorded_step_ns", p.recorded * ns_a_second},
          {"projected", shape_json(p.shape)},
          {"step", step_json(p)},
          {"changes", changes_json(p)},
          {"width", std::move(width)},
          {"replay_error", r.held_out ? Json(r.held_out->error) : Json(nullptr)},
          {"warnings", std::move(notes)}};
}

Json project_brief_tree(const ProjectResult& r) {
  const Projection& p = r.projection;
  return {{"schema", "stepscope.project.brief/1"},
          {"answer", answer_json(r)},
          {"recorded_step_ns", p.recorded * ns_a_second},
          {"step", step_json(p)},
          {"changes", changes_json(p)}};
}

std::vector<TreeTable> project_tables(const Json& tree) {
  return {table_of("changes", tree["changes"]), table_of("width", tree["width"])};
}

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
