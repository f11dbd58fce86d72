// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/projection/project_json.h"

#include "stepscope/report/json/analyze_json.h"
#include "stepscope/report/projection/project_text.h"
#include "stepscope/say/say.h"

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

}  // namespace stepscope
