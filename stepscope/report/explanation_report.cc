// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/explanation_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

constexpr std::size_t most_shares = 6;
constexpr std::size_t most_blamed = 4;
constexpr std::size_t most_scenarios = 6;
constexpr double least_share = 0.005;  // of a step; less is not worth a line

std::string name_of_kind(const std::optional<CollectiveKind>& kind) {
  return kind ? std::string(collective_kind_names[static_cast<std::size_t>(*kind)])
              : "communication";
}

double share_of(Ns part, Ns whole) {
  return whole.count() == 0
             ? 0
             : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

Json path_json(const CriticalPath& path, Ns origin) {
  Json shares = Json::array();
  for (const PathShare& s : path.shares)
    shares.push_back({{"rank", s.rank},
                      {"what", s.label},
                      {"phase", phase_names[static_cast<std::size_t>(s.phase)]},
                      {"ns", value(s.time)},
                      {"percent", 100 * share_of(s.time, path.length)}});
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
          {"residual_ns", value(path.residual)},
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

// The path over ranks and phases, by what it is.
std::string path_text(const CriticalPath& path, std::int64_t steps, std::size_t width) {
  std::map<std::string_view, Ns> by_what;
  for (const PathShare& s : path.shares) by_what[s.label] += s.time;
  std::vector<std::pair<Ns, std::string_view>> sorted;
  for (const auto& [what, time] : by_what) sorted.emplace_back(time, what);
  std::ranges::sort(sorted, std::greater<>{});
  std::vector<std::string> parts;
  for (const auto& [time, what] : sorted) {
    const double share = share_of(time, path.length);
    if (parts.size() == most_shares || share < least_share) break;
    parts.push_back(fmt::format("{} {}", what, format_percent(share)));
  }
  std::vector<std::string> ranks;
  for (const RankSlack& r : path.ranks)
    if (share_of(r.on_path, path.length) >= 0.1 && path.ranks.size() > 1)
      ranks.push_back(
          fmt::format("rank {} {}", r.rank, format_percent(share_of(r.on_path, path.length))));
  std::string text = fmt::format("Critical path ({} a step): {}", format_time(path.length / steps),
                                 fmt::join(parts, ", "));
  if (!ranks.empty() && ranks.size() <= most_shares)
    text += fmt::format("; it runs on {}", fmt::join(ranks, ", "));
  return wrapped(text + ".", width);
}

std::string blame_text(const Explanation& e, std::size_t width) {
  Ns all{};
  for (const Blame& b : e.blame) all += b.wait;
  if (all <= Ns{0}) return {};
  std::vector<std::vector<std::string>> rows;
  for (const Blame& b : e.blame) {
    if (rows.size() == most_blamed || share_of(b.wait, all) < 0.01) break;
    rows.push_back({fmt::format("rank {}", b.rank), std::string(b.label), printable(b.name),
                    b.excess ? "longer than its peers" : "more to do by the schedule",
                    format_time(b.wait), format_percent(share_of(b.wait, all))});
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

}  // namespace

namespace {

std::string change_words(const Scenario& s) {
  switch (s.change) {
    case Change::no_waiting:
      return "no waiting for peers";
    case Change::communication_free:
      return name_of_kind(s.kind) + " takes no time";
    case Change::bandwidth:
      return fmt::format("{} at {} × the bandwidth", name_of_kind(s.kind), s.factor);
    case Change::latency:
      return fmt::format("{} with 1/{} of the latency", name_of_kind(s.kind), s.factor);
    case Change::compute:
      return fmt::format(
          "{} {} × as fast",
          s.kernel_class ? name_class_names[static_cast<std::size_t>(*s.kernel_class)] : "compute",
          s.factor);
    case Change::host_free:
      return "host and launches take no time (CUDA graphs)";
    case Change::host:
      return fmt::format("host {} × as fast", s.factor);
    case Change::data_free:
      return "data loading takes no time";
    case Change::allocator_free:
      return "allocating and freeing device memory takes no time";
    case Change::collector_free:
      return "garbage collection takes no time";
    case Change::profiler_free:
      return "the profiler's own overhead is gone";
    case Change::sync_free:
      return "no call waits for the device, or for a collective before it is needed";
    case Change::copies_free:
      return "copies take no time";
    case Change::device_alone:
      return "no other process has the device in between";
    case Change::rank_as_peers:
      return fmt::format("rank {} works as its peers do", s.rank.value_or(-1));
    case Change::stages_balanced:
      return "pipeline stages balanced";
    case Change::ranks_balanced:
      return "ranks of one role have equal compute";
    case Change::bucket:
      return fmt::format("gradients in messages of {}",
                         format_bytes(static_cast<double>(s.size.value_or(Bytes{}).value)));
    case Change::prefetch:
      return fmt::format("parameters fetched {} unit{} ahead", s.factor, s.factor == 1 ? "" : "s");
  }
  return {};
}

}  // namespace

std::string scenario_words(const Scenario& s) {
  const bool named = s.change == Change::rank_as_peers || !s.rank;
  return named ? change_words(s) : fmt::format("{} on rank {}", change_words(s), *s.rank);
}

Json replay_json(const Explanation& e) {
  return {{"baseline_ns", value(e.step)},
          {"replay_error", e.replay_error},
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
    out.push_back(
        {{"name", name_of(w.scenario)},
         {"words", scenario_words(w.scenario)},
         {"step_ns", answered ? value(w.step) : Json(nullptr)},
         {"saved_ns", answered ? value(w.saved) : Json(nullptr)},
         {"speedup", answered && w.step > Ns{0} ? Json(share_of(e.step, w.step)) : Json(nullptr)},
         {"remove", real(w.removed)},
         {"add", real(w.added)},
         {"nodes", w.nodes},
         {"refused", text_or_null(w.refused)},
         {"notes", w.notes}});
  }
  return out;
}

Json explanation_json(const JobResult& job) {
  if (!job.explanation) return nullptr;
  const Explanation& e = *job.explanation;
  Json out = replay_json(e);
  out["critical_path"] = path_json(e.path, job.origin);
  out["blame"] = blame_json(e, job.origin);
  out["scenarios"] = scenarios_json(e, e.what_ifs);
  return out;
}

std::string scenarios_text(const Explanation& e, std::span<const WhatIf> scenarios,
                           std::size_t most, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const WhatIf& w : scenarios) {
    if (rows.size() == most) break;
    if (!w.refused.empty()) {
      rows.push_back({scenario_words(w.scenario), "not known", "", "", name_of(w.scenario)});
      continue;
    }
    const std::string_view sign = w.saved < Ns{0} ? "-" : "";
    rows.push_back({scenario_words(w.scenario), format_time(w.step),
                    fmt::format("{}{}", sign, format_time(Ns{std::abs(w.saved.count())})),
                    fmt::format("{}{}", sign, format_percent(std::abs(share_of(w.saved, e.step)))),
                    name_of(w.scenario)});
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
  std::string out = path_text(e.path, most_steps(job), width);
  if (const std::string blamed = blame_text(e, width); !blamed.empty()) out += '\n' + blamed;
  std::vector<WhatIf> worth;
  for (const WhatIf& w : e.what_ifs)
    if (share_of(w.saved, e.step) >= least_share) worth.push_back(w);
  if (!worth.empty())
    out += fmt::format(
               "\nWhat a change would buy (the recorded steps replayed; {} of a step is not "
               "explained by the graph):\n",
               format_percent(std::abs(e.residual_share))) +
           scenarios_text(e, worth, most_scenarios, width);
  return out;
}

}  // namespace stepscope
