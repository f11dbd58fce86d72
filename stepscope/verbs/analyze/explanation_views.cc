// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/explanation_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {

namespace {

std::string_view name_of_kind(const std::optional<CollectiveKind>& kind) {
  return kind ? collective_kind_names[static_cast<std::size_t>(*kind)] : "communication";
}

std::string_view name_of_part(WorkPart part) {
  return part == WorkPart::data ? "data loading" : work_part_names[static_cast<std::size_t>(part)];
}

Message change_words(const Scenario& s) {
  const std::string factor = fmt::format("{}", s.factor);
  switch (s.change) {
    case Change::no_waiting:
      return msg::no_waiting();
    case Change::communication_free:
      return msg::takes_no_time(name_of_kind(s.kind));
    case Change::bandwidth:
      return msg::at_bandwidth(name_of_kind(s.kind), factor);
    case Change::latency:
      return msg::at_latency(name_of_kind(s.kind), factor);
    case Change::compute:
      return msg::so_fast(
          s.kernel_class ? name_class_names[static_cast<std::size_t>(*s.kernel_class)] : "compute",
          factor);
    case Change::host_free:
      return msg::host_takes_no_time();
    case Change::host:
      return msg::so_fast("host", factor);
    case Change::data_free:
      return msg::data_takes_no_time();
    case Change::allocator_free:
      return msg::allocator_takes_no_time();
    case Change::collector_free:
      return msg::collector_takes_no_time();
    case Change::unseen_free:
      return msg::unseen_takes_no_time();
    case Change::profiler_free:
      return msg::without_profiler();
    case Change::sync_free:
      return msg::without_syncs();
    case Change::syncs_once:
      return msg::syncs_once();
    case Change::pauses_free:
      return msg::without_pauses();
    case Change::copies_free:
      return msg::copies_take_no_time();
    case Change::device_alone:
      return msg::device_alone();
    case Change::rank_as_peers:
      return s.part ? msg::part_as_peers(s.rank.value_or(-1), name_of_part(*s.part))
                    : msg::rank_as_peers(s.rank.value_or(-1));
    case Change::group_as_siblings:
      return msg::group_as_siblings(s.group);
    case Change::step_as_others:
      return msg::step_as_others(s.step.value_or(0));
    case Change::stages_balanced:
      return msg::stages_balanced();
    case Change::ranks_balanced:
      return msg::ranks_balanced();
    case Change::bucket:
      return msg::gradients_in_messages(s.size.value_or(Bytes{}));
    case Change::prefetch:
      return msg::fetched_ahead(factor, s.factor != 1);
  }
  return {};
}

}  // namespace

Message scenario_words(const Scenario& s) {
  const bool named =
      s.change == Change::rank_as_peers || s.change == Change::group_as_siblings || !s.rank;
  return named ? change_words(s) : msg::change_on_rank(change_words(s), *s.rank);
}

namespace {

Json path_json(const CriticalPath& path, Ns origin) {
  Json shares = Json::array();
  for (const PathShare& s : path.shares)
    shares.push_back({{"rank", s.rank},
                      {"what", s.label},
                      {"phase", phase_names[static_cast<std::size_t>(s.phase)]},
                      {"ns", value(s.time)},
                      {"percent", 100 * share_of_time(s.time, path.length)}});
  Json longest = Json::array();
  for (const PathPiece& p : path.longest)
    longest.push_back({{"rank", p.rank},
                       {"what", p.label},
                       {"name", text_or_null(p.name)},
                       {"start_ns", value(p.start - origin)},
                       {"ns", value(p.time)}});
  Json hops = Json::array();
  for (const PathHop& h : path.hops)
    hops.push_back({{"from", h.from}, {"to", h.to}, {"count", h.count}});
  Json ranks = Json::array();
  for (const RankSlack& r : path.ranks)
    ranks.push_back({{"rank", r.rank},
                     {"on_path_ns", value(r.on_path)},
                     {"slack_ns", r.slack == Ns::max() ? Json(nullptr) : value(r.slack)}});
  return {{"length_ns", value(path.length)},
          {"steps", path.steps},
          {"residual_ns", value(path.residual)},
          {"unlaunched_ns", value(path.unlaunched)},
          {"not_recorded_ns", value(path.not_recorded)},
          {"unjoined_ns", value(path.unjoined)},
          {"nodes", path.nodes},
          {"shares", std::move(shares)},
          {"longest", std::move(longest)},
          {"hops", std::move(hops)},
          {"ranks", std::move(ranks)}};
}

Json blame_json(const Explanation& e, Ns origin) {
  Json out = Json::array();
  for (const Blame& b : e.blame)
    out.push_back({{"rank", b.rank},
                   {"what", b.label},
                   {"name", text_or_null(b.name)},
                   {"excess", b.excess},
                   {"wait_ns", value(b.wait)},
                   {"collectives", b.collectives},
                   {"worst_ns", value(b.worst)},
                   {"worst_at_ns", value(b.worst_at - origin)}});
  return out;
}

}  // namespace

Json replay_json(const Explanation& e) {
  return {{"baseline_ns", value(e.step)},
          {"replay_error", e.held_out ? Json(e.held_out->error) : Json(nullptr)},
          {"step_variation", e.held_out ? Json(e.held_out->variation) : Json(nullptr)},
          {"held_out_steps", e.held_out ? e.held_out->steps : 0},
          {"fulfilled", e.held_out ? real(e.held_out->fulfilled) : Json(nullptr)},
          {"gain_error_ns", value(gain_error(e))},
          {"unexplained_share", e.unexplained_share},
          {"refused", e.refused},
          {"residual_share", e.residual_share},
          {"graph",
           {{"nodes", e.nodes},
            {"edges", e.edges},
            {"joined_calls", e.joined},
            {"unjoined_calls", e.unjoined},
            {"removed_edges", e.removed_edges},
            {"negative_delays", e.negative_delays}}}};
}

Json scenarios_json(const Explanation& e, std::span<const WhatIf> scenarios) {
  Json out = Json::array();
  for (const WhatIf& w : scenarios) {
    const bool answered = w.refused.empty();
    out.push_back({{"name", name_of(w.scenario)},
                   {"words", say(scenario_words(w.scenario))},
                   {"step_ns", answered ? value(w.step) : Json(nullptr)},
                   {"shortest_step_ns",
                    answered && w.shortest_step ? value(*w.shortest_step) : Json(nullptr)},
                   {"saved_ns", answered ? value(w.saved) : Json(nullptr)},
                   {"speedup", answered && w.step > Ns{0} ? Json(share_of_time(e.step, w.step))
                                                          : Json(nullptr)},
                   {"remove", real(w.removed)},
                   {"add", real(w.added)},
                   {"nodes", w.nodes},
                   {"doubted", w.doubted},
                   {"refused", text_or_null(say(w.refused))},
                   {"notes", say_all(w.notes)}});
  }
  return out;
}

Json explanation_json(const JobResult& job) {
  if (!job.explanation) return nullptr;
  const Explanation& e = *job.explanation;
  Json out = replay_json(e);
  out["critical_path"] = path_json(e.path, job.clocks.origin);
  out["blame"] = blame_json(e, job.clocks.origin);
  out["scenarios"] = scenarios_json(e, e.what_ifs);
  return out;
}

Json findings_json(std::span<const Finding> findings, const JobResult& job) {
  Json out = Json::array();
  const auto place_json = [&](const FindingPlace& p) {
    return Json{{"rank", p.rank},
                {"start_ns", value(p.start - origin_of(job, p.rank))},
                {"ns", value(p.time)}};
  };
  for (const Finding& f : findings) {
    Json places = Json::array();
    for (const FindingPlace& p : f.places) places.push_back(place_json(p));
    Json evidence = Json::array();
    for (const Message& e : f.evidence) evidence.push_back(say(e));
    out.push_back({{"id", f.id},
                   {"key", f.key},
                   {"sort", finding_sort_names[static_cast<std::size_t>(f.sort)]},
                   {"under", text_or_null(f.under)},
                   {"what", say(f.what)},
                   {"evidence", std::move(evidence)},
                   {"place", f.place ? place_json(*f.place) : Json(nullptr)},
                   {"places", std::move(places)},
                   {"advice", say(f.advice)},
                   {"gain_ns", value(f.gain)},
                   {"gain_from", text_or_null(f.change.empty() ? say(f.bounded_by) : f.change)},
                   {"confidence", confidence_names[static_cast<std::size_t>(f.confidence)]}});
  }
  return out;
}

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

namespace {

// Rows whose first cell, a sentence, is folded where the line has no room for it. The last cell is
// a word to be typed again and is never shortened.
std::vector<std::vector<std::string>> folded_rows(std::vector<std::vector<std::string>> rows,
                                                  std::span<const Column> columns,
                                                  std::size_t width) {
  constexpr std::size_t least = 24;  // columns of a sentence
  std::size_t others = 2;
  for (std::size_t c = 1; c < columns.size(); ++c) {
    std::size_t widest = columns_of(columns[c].title);
    for (const auto& row : rows) widest = std::max(widest, columns_of(row[c]));
    others += 2 + widest;
  }
  const std::size_t room = std::max(least, width > others ? width - others : 0);
  std::vector<std::vector<std::string>> folded;
  for (auto& row : rows) {
    std::string lines = wrapped(row[0], room);
    for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n')) {
      row[0] = lines.substr(0, end);
      lines.erase(0, end + 1);
      folded.push_back(row);
      for (std::string& cell : row) cell.clear();
    }
  }
  return folded;
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
  constexpr std::size_t whole = 1000;
  std::vector<Column> columns = {{.title = "if", .right = false, .longest = whole},
                                 {.title = "step"},
                                 {.title = "saves"},
                                 {.title = "of it"},
                                 {.title = "whatif", .right = false, .longest = whole}};
  rows = folded_rows(std::move(rows), columns, width);
  return text_table(std::move(columns), std::move(rows), whole);
}

std::string explanation_text(const std::optional<Explanation>& explanation, std::size_t width) {
  if (!explanation) return {};
  const Explanation& e = *explanation;
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
  std::vector<WhatIf> shown;
  std::vector<std::string> idle;  // changes that nobody asked for and that save nothing
  for (const WhatIf& w : scenarios)
    if (!r.asked && w.refused.empty() && most_saved(w) == Ns{0} && w.saved == Ns{0})
      idle.push_back(name_of(w.scenario));
    else
      shown.push_back(w);
  if (!shown.empty()) out += '\n' + scenarios_text(e, shown, shown.size(), width);
  if (!idle.empty()) out += '\n' + wrapped(msg::saves_nothing(idle.size(), idle), width);
  for (const std::string& w : say_all(r.warnings)) out += "\nnote: " + wrapped(w, width - 6);
  return out;
}

}  // namespace stepscope
