// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/recording_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stepscope/diagnose/needs.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/say/vocabulary.h"

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
          {"queued_launches", r.queued_launches},
          {"device_rows", r.device_rows},
          {"loose_rows", r.loose_rows},
          {"early_rows", r.early_rows},
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
  for (const RankResult& r : job.ranks) ranks.push_back(rank(r, origin_of(job, r.rank)));
  return {{"lacks", lacks(job)}, {"ranks", std::move(ranks)}};
}

namespace {

constexpr std::size_t most_recorded_ranks = 16;
constexpr std::size_t most_start_ups = 4;

std::string count_or_dash(std::uint64_t n) {
  return n == 0 ? "-" : format_whole(static_cast<std::int64_t>(n));
}

std::vector<std::string> row_of(const RankResult& rank) {
  const RankRecording& r = rank.recording;
  return {std::to_string(rank.rank),
          r.format,
          count_or_dash(r.of(Category::cpu_op)),
          count_or_dash(r.shaped_operators),
          count_or_dash(r.of(Category::runtime) + r.of(Category::driver)),
          count_or_dash(r.launches),
          count_or_dash(r.lost_launches),
          count_or_dash(r.lost_steps.size()),
          count_or_dash(r.device_rows),
          count_or_dash(r.loose_rows),
          count_or_dash(r.graph_launches),
          count_or_dash(r.graph_rows),
          count_or_dash(r.of(Category::sync)),
          count_or_dash(r.memory_events),
          r.collectives == 0 ? "-" : fmt::format("{} of {}", r.in_named_groups, r.collectives),
          r.messages == 0 ? "-" : fmt::format("{} of {}", r.addressed_messages, r.messages),
          r.start_up.spans.empty() ? "-" : format_time(r.start_up.total)};
}

std::string start_ups(const JobResult& job, std::size_t width) {
  struct Start {
    int rank;
    const StartUpSpan* span;
  };
  std::vector<Start> all;
  for (const RankResult& r : job.ranks)
    for (const StartUpSpan& span : r.recording.start_up.spans) all.push_back({r.rank, &span});
  if (all.empty()) return {};
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const Start& s) { return s.span->end - s.span->start; });
  std::vector<std::vector<std::string>> rows;
  for (const Start& s : all) {
    if (rows.size() == most_start_ups) break;
    rows.push_back({name_of(start_up_kind_names, s.span->kind), std::to_string(s.rank),
                    format_time(s.span->end - s.span->start), printable(s.span->what)});
  }
  return "Start-up, which later steps do not repeat\n" +
         text_table({{"kind", false}, {"rank"}, {"takes"}, {"what", false}}, rows, width);
}

// "Not recorded: the shapes of the operators' inputs (record_shapes=True). Not looked for: …"
std::string lacking(const JobResult& job, std::size_t width) {
  std::string out;
  for (const MissingFact& m : missing_facts(job)) {
    std::vector<std::string> names;
    for (const std::string_view id : m.findings) names.emplace_back(label_of("finding", id));
    out += wrapped(msg::fact_lacking(m.what, m.record, names), width);
  }
  return out;
}

}  // namespace

std::string recording_text(const JobResult& job, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const RankResult& r : job.ranks) {
    if (rows.size() == most_recorded_ranks) break;
    rows.push_back(row_of(r));
  }
  std::string out = "Recording (rows of each rank)\n" + text_table({{"rank"},
                                                                    {"format", false},
                                                                    {"operators"},
                                                                    {"with shapes"},
                                                                    {"calls"},
                                                                    {"launches"},
                                                                    {"lost"},
                                                                    {"steps lost"},
                                                                    {"device rows"},
                                                                    {"no launch"},
                                                                    {"graphs"},
                                                                    {"nodes"},
                                                                    {"stream waits"},
                                                                    {"memory"},
                                                                    {"in named groups"},
                                                                    {"with peers"},
                                                                    {"start-up"}},
                                                                   std::move(rows), width);
  if (job.ranks.size() > most_recorded_ranks)
    out += fmt::format("  … and {} more\n", job.ranks.size() - most_recorded_ranks);
  return out + start_ups(job, width) + lacking(job, width);
}

}  // namespace stepscope
