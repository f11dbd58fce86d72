// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/check_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "stepscope/report/sentences/run_sentences.h"
#include "stepscope/report/terminal/compare_text.h"
#include "stepscope/report/terminal/log_text.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t most_rank_rows = 16;

// Of more ranks, those that are furthest from the others.
std::vector<const RankStatistics*> ranks_to_show(const StepTimesByRank& t) {
  std::vector<const RankStatistics*> ranks;
  for (const RankStatistics& r : t.ranks) ranks.push_back(&r);
  if (ranks.size() <= most_rank_rows) return ranks;
  const auto distance = [](const RankStatistics* r) { return std::fabs(r->deviation.value_or(0)); };
  std::ranges::stable_sort(ranks, std::ranges::greater{}, distance);
  ranks.resize(most_rank_rows);
  std::ranges::sort(ranks, {}, &RankStatistics::rank);
  return ranks;
}

std::string deviation_text(double share) {
  return std::fabs(share) < 5e-4 ? "< 0.1 %" : fmt::format("{:+.1f} %", 100 * share);
}

std::vector<std::string> times_row(std::string name, const StepStatistics& s,
                                   std::optional<double> deviation) {
  return {std::move(name),
          std::to_string(s.steps),
          format_time(s.min_ns),
          format_time(s.median_ns),
          format_time(s.p95_ns),
          format_time(s.max_ns),
          std::to_string(s.outliers),
          deviation ? deviation_text(*deviation) : "-"};
}

std::string step_times_table(const StepTimesByRank& t, std::size_t width) {
  if (!t.job) return {};
  std::vector<std::vector<std::string>> rows;
  rows.push_back(times_row(t.ranks.empty() ? "all" : "job", *t.job, std::nullopt));
  const auto shown = ranks_to_show(t);
  for (const RankStatistics* r : shown)
    rows.push_back(times_row(fmt::format("rank {}", r->rank), r->times, r->deviation));
  std::string out = fmt::format(
      "\nStep times{}{}:\n", t.ranks.empty() ? "" : " by rank",
      t.warm_up > 0 ? fmt::format(" without {} of warm-up", counted(t.warm_up, "step")) : "");
  out += text_table({{"", false},
                     {"steps"},
                     {"min"},
                     {"median"},
                     {"p95"},
                     {"max"},
                     {"outliers"},
                     {"beside the median rank"}},
                    std::move(rows), width);
  if (shown.size() < t.ranks.size())
    out += fmt::format("  The {} of {} ranks that are furthest from the median rank.\n",
                       shown.size(), t.ranks.size());
  return out;
}

// The evidence of long lines goes on below its begin.
std::string checklists_text(const std::vector<Checklist>& lists, std::size_t width) {
  constexpr std::size_t indent = 34;
  std::string out;
  for (const Checklist& list : lists) {
    out += fmt::format("\n{}:\n", say(list.title));
    for (const ChecklistLine& l : list.lines) {
      const std::string text =
          wrapped(printable(say(l.evidence)), std::max(indent + 40, width) - indent);
      out += fmt::format("  {:<5} {:<24}  ",
                         l.result == ChecklistResult::fine   ? "ok"
                         : l.result == ChecklistResult::look ? "look"
                                                             : "-",
                         spaced(std::string(l.name)));
      for (std::size_t i = 0; i < text.size(); ++i) {
        out += text[i];
        if (text[i] == '\n' && i + 1 < text.size()) out += std::string(indent, ' ');
      }
    }
  }
  return out;
}

}  // namespace

std::string check_text(const CheckResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(check_sentence(r.lines), width) + '\n';
  for (const CheckLine& l : r.lines) {
    const char* mark = l.status == CheckStatus::good   ? "ok"
                       : l.status == CheckStatus::look ? "look"
                                                       : "-";
    out += fmt::format("  {:<5} {:<14} {}\n", mark, spaced(l.name), printable(say(l.sentence)));
  }
  out += checklists_text(r.checklists, width);
  out += outlier_text(r.kind == CheckedKind::list ? "the list" : "these steps", r.facts.arm);
  out += step_times_table(r.times, width);
  if (r.log) out += log_text(*r.log, options);
  if (!r.record_next.empty()) out += "\nRecord next:\n";
  for (const Message& what : r.record_next) out += "  " + say(what) + '\n';
  return out + notes_text(r.warnings, width) + details_line(options);
}

}  // namespace stepscope
