// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/recording_json.h"

#include "stepscope/diagnose/needs.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

Json lacks(const JobResult& job) {
  Json out = Json::array();
  for (const MissingFact& m : missing_facts(job))
    out.push_back({{"fact", name_of(fact_names, m.fact)},
                   {"what", say(m.what)},
                   {"record", text_or_null(say(m.record))},
                   {"findings", m.findings}});
  return out;
}

Json start_up(const StartUp& s, Ns origin) {
  Json spans = Json::array();
  for (const StartUpSpan& span : s.spans)
    spans.push_back({{"kind", name_of(start_up_kind_names, span.kind)},
                     {"what", span.what},
                     {"start_ns", value(span.start - origin)},
                     {"ns", value(span.end - span.start)}});
  return {{"total_ns", value(s.total)}, {"idle_ns", value(s.idle)}, {"spans", std::move(spans)}};
}

Json rank(const RankResult& result, Ns origin) {
  const RankRecording& r = result.recording;
  Json rows = Json::object();
  for (std::size_t c = 0; c < category_count; ++c)
    if (r.rows[c] > 0) rows[std::string(category_names[c])] = r.rows[c];
  Json steps = Json::array();
  for (const StepRecording& s : r.steps)
    steps.push_back({{"index", s.index},
                     {"launches", s.launches},
                     {"lost_launches", s.lost_launches},
                     {"device_rows", s.device_rows}});
  return {{"rank", result.rank},
          {"format", r.format},
          {"clock", r.clock == Clock::unix_epoch ? "unix" : "relative"},
          {"rows", std::move(rows)},
          {"launches", r.launches},
          {"lost_launches", r.lost_launches},
          {"device_rows", r.device_rows},
          {"loose_rows", r.loose_rows},
          {"graph_launches", r.graph_launches},
          {"graph_rows", r.graph_rows},
          {"outside_rows", r.outside_rows},
          {"overlapping_rows", r.overlapping_rows},
          {"shaped_operators", r.shaped_operators},
          {"memory_events", r.memory_events},
          {"collectives", r.collectives},
          {"in_named_groups", r.in_named_groups},
          {"messages", r.messages},
          {"addressed_messages", r.addressed_messages},
          {"stepping_processes", r.stepping_processes},
          {"lost_steps", r.lost_steps},
          {"steps", std::move(steps)},
          {"start_up", start_up(r.start_up, origin)},
          {"notes", r.notes}};
}

}  // namespace

Json recording_json(const JobResult& job) {
  Json ranks = Json::array();
  for (const RankResult& r : job.ranks)
    ranks.push_back(rank(r, job.origin.count() != 0 ? job.origin : r.window_start));
  return {{"lacks", lacks(job)}, {"ranks", std::move(ranks)}};
}

}  // namespace stepscope
