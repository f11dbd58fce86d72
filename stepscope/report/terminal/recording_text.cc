// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/recording_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stepscope/diagnose/needs.h"
#include "stepscope/report/sentences/names.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/vocabulary.h"

namespace stepscope {
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
