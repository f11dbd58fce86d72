// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/explanation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "stepscope/report/sentences/scenario_words.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t most_shares = 6;
constexpr std::size_t most_blamed = 4;
constexpr std::size_t most_scenarios = 6;
constexpr double least_share = 0.005;  // of a step; less is not worth a line

// The path over ranks and phases, by what it is.
std::string path_text(const CriticalPath& path, std::size_t width) {
  std::map<std::string_view, Ns> by_what;
  for (const PathShare& s : path.shares) by_what[s.label] += s.time;
  std::vector<std::pair<Ns, std::string_view>> sorted;
  for (const auto& [what, time] : by_what) sorted.emplace_back(time, what);
  std::ranges::sort(sorted, std::greater<>{});
  Messages parts;
  for (const auto& [time, what] : sorted) {
    const double share = share_of_time(time, path.length);
    if (parts.size() == most_shares || share < least_share) break;
    parts.push_back(msg::name_and_share(what, Percent{share}));
  }
  Messages ranks;
  for (const RankSlack& r : path.ranks)
    if (const double share = share_of_time(r.on_path, path.length);
        share >= 0.1 && path.ranks.size() > 1)
      ranks.push_back(msg::rank_and_share(r.rank, Percent{share}));
  if (ranks.size() > most_shares) ranks.clear();
  return wrapped(msg::critical_path(path.length / static_cast<std::int64_t>(path.steps),
                                    std::move(parts), std::move(ranks)),
                 width);
}

std::string blame_text(const Explanation& e, std::size_t width) {
  Ns all{};
  for (const Blame& b : e.blame) all += b.wait;
  if (all <= Ns{0}) return {};
  std::vector<std::vector<std::string>> rows;
  for (const Blame& b : e.blame) {
    if (rows.size() == most_blamed || share_of_time(b.wait, all) < 0.01) break;
    rows.push_back({fmt::format("rank {}", b.rank), std::string(b.label), printable(b.name),
                    b.excess ? "longer than its peers" : "more to do by the schedule",
                    format_time(b.wait), format_percent(share_of_time(b.wait, all))});
  }
  return "Who is waited for in collectives:\n" +
         text_table({{.title = "rank", .right = false},
                     {.title = "for", .right = false},
                     {.title = "most in", .right = false, .longest = 40},
                     {.title = "why", .right = false},
                     {.title = "waiting"},
                     {.title = "share"}},
                    std::move(rows), width);
}

std::string saved_text(Ns saved) {
  return fmt::format("{}{}", saved < Ns{0} ? "-" : "", format_time(Ns{std::abs(saved.count())}));
}

std::string saved_share(Ns saved, Ns step) {
  return fmt::format("{}{}", saved < Ns{0} ? "-" : "",
                     format_percent(std::abs(share_of_time(saved, step))));
}

std::string range_text(const std::string& low, const std::string& high) {
  return low == high ? low : low + " to " + high;
}

// How far the replay can be trusted.
Message check_words(const Explanation& e) {
  if (!e.held_out) return msg::replay_not_checked();
  return msg::replay_predicts(e.held_out->steps, Percent{e.held_out->error},
                              Percent{e.held_out->variation});
}

}  // namespace

std::string scenarios_text(const Explanation& e, std::span<const WhatIf> scenarios,
                           std::size_t longest, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const WhatIf& w : scenarios) {
    if (rows.size() == longest) break;
    if (!w.refused.empty()) {
      rows.push_back({say(scenario_words(w.scenario)), "not known", "", "", name_of(w.scenario)});
      continue;
    }
    const Ns shortest = w.shortest_step.value_or(w.step);
    const Ns most = most_saved(w);
    rows.push_back(
        {say(scenario_words(w.scenario)), range_text(format_time(shortest), format_time(w.step)),
         range_text(saved_text(w.saved), saved_text(most)),
         range_text(saved_share(w.saved, e.step), saved_share(most, e.step)), name_of(w.scenario)});
  }
  return text_table({{.title = "if", .right = false},
                     {.title = "step"},
                     {.title = "saves"},
                     {.title = "of it"},
                     {.title = "whatif", .right = false}},
                    std::move(rows), width);
}

std::string explanation_text(const JobResult& job, std::size_t width) {
  if (!job.explanation) return {};
  const Explanation& e = *job.explanation;
  if (e.path.length <= Ns{0} || e.step <= Ns{0}) return {};
  std::string out = path_text(e.path, width);
  if (const std::string blamed = blame_text(e, width); !blamed.empty()) out += '\n' + blamed;
  std::vector<WhatIf> worth;
  for (const WhatIf& w : e.what_ifs)
    if (share_of_time(most_saved(w), e.step) >= least_share) worth.push_back(w);
  if (!worth.empty())
    out += fmt::format(
               "\nWhat a change would buy (the recorded steps replayed; {} of a step is not "
               "explained by the graph):\n",
               format_percent(std::abs(e.residual_share))) +
           wrapped(check_words(e), width) + scenarios_text(e, worth, most_scenarios, width);
  return out;
}

std::string whatif_text(const WhatIfResult& r, std::size_t width) {
  const Explanation& e = r.explanation;
  const auto scenarios = shown_answers(r);
  std::string out =
      wrapped(msg::sentences(Messages{msg::whole_step_takes(e.step), check_words(e)}), width);
  if (!scenarios.empty()) out += '\n' + scenarios_text(e, scenarios, scenarios.size(), width);
  for (const std::string& w : say_all(r.warnings)) out += "\nnote: " + wrapped(w, width - 6);
  return out;
}

}  // namespace stepscope
