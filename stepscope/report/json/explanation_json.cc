// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/explanation_json.h"

#include <algorithm>

#include "stepscope/report/sentences/scenario_words.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
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
  out["critical_path"] = path_json(e.path, job.origin);
  out["blame"] = blame_json(e, job.origin);
  out["scenarios"] = scenarios_json(e, e.what_ifs);
  return out;
}

Json findings_json(std::span<const Finding> findings, const JobResult& job) {
  Json out = Json::array();
  const auto origin_of = [&](int rank) {
    if (job.origin.count() != 0) return job.origin;
    const auto r = std::ranges::find(job.ranks, rank, &RankResult::rank);
    return r == job.ranks.end() ? Ns{} : r->window_start;
  };
  const auto place_json = [&](const FindingPlace& p) {
    return Json{
        {"rank", p.rank}, {"start_ns", value(p.start - origin_of(p.rank))}, {"ns", value(p.time)}};
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

}  // namespace stepscope
