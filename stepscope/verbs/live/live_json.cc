// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/live/live_json.h"

#include "stepscope/face/tree/version.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/live/live_sentence.h"

namespace stepscope {
namespace {

Json transfers_json(const std::optional<LongerTransfers>& transfers) {
  if (!transfers) return nullptr;
  return {{"before_ns", transfers->before_ns},
          {"now_ns", transfers->now_ns},
          {"round_ns", transfers->round_ns},
          {"others", transfers->others}};
}

Json change_json(const std::optional<StepChange>& change) {
  if (!change) return nullptr;
  return {{"step", change->step},
          {"before_ns", change->before_ns},
          {"after_ns", change->after_ns},
          {"transfer_ns", real(change->transfer_ns)},
          {"wait_ns", real(change->wait_ns)}};
}

Json steps_json(const JobState& job) {
  if (job.step_source() == StepSource::none) return nullptr;
  const StepCurve& curve = job.curve();
  const auto quantile = [&](double q) {
    return curve.one_mean() ? Json(nullptr) : real(curve.times().quantile(q));
  };
  Json points = Json::array();
  for (const CurvePoint& p : curve.points())
    points.push_back({{"last", p.last},
                      {"steps", p.steps},
                      {"mean_ns", p.sum_ns / static_cast<double>(p.steps)},
                      {"min_ns", p.least_ns},
                      {"max_ns", p.most_ns}});
  return {{"source", step_source_names[static_cast<std::size_t>(job.step_source())]},
          {"steps", curve.steps()},
          {"last", curve.last()},
          {"recent_ns", real(curve.recent_ns())},
          {"p50_ns", quantile(0.5)},
          {"p99_ns", quantile(0.99)},
          {"curve", points}};
}

Json processes_json(const LiveView& view) {
  Json out = Json::array();
  for (const LiveProcess& p : view.job.processes()) {
    if (p.records == 0) continue;
    Json late = nullptr;
    if (!p.late_in.empty())
      late = {{"communicator", p.late_in == own_work_name ? Json(nullptr) : Json(p.late_in)},
              {"phase", text_or_null(p.phase)},
              {"since", p.since >= 0 ? Json(p.since) : Json(nullptr)},
              {"late_ns", p.late_ns},
              {"step_ns", p.round_ns > 0 ? Json(p.round_ns) : Json(nullptr)}};
    out.push_back({{"rank", p.rank >= 0 ? Json(p.rank) : Json(nullptr)},
                   {"name", p.name},
                   {"host", text_or_null(p.host)},
                   {"pid", p.pid >= 0 ? Json(p.pid) : Json(nullptr)},
                   {"records", p.records},
                   {"quiet_s", std::max(0.0, view.now - p.heard)},
                   {"silent", p.silent},
                   {"replaced", p.replaced},
                   {"late", late}});
  }
  return out;
}

Json communicators_json(const JobState& job) {
  Json out = Json::array();
  for (const auto& c : job.communicators()) {
    const double transfer = c->transfer();
    const double wait = c->mean_wait();
    Json longer = nullptr;
    if (const TransferRule* rule = c->transfers(); rule != nullptr && rule->longer())
      longer = {{"before_ns", rule->before_ns()}, {"now_ns", rule->now_ns()}};
    out.push_back(
        {{"id", c->id()},
         {"name", text_or_null(c->name())},
         {"ranks", c->ranks()},
         {"ranks_seen", c->ranks_seen()},
         {"collectives", c->counts().collectives},
         {"collectives_in_a_step", c->period() ? Json(*c->period()) : Json(nullptr)},
         {"longer_transfers", longer},
         {"wait_share", transfer + wait > 0 ? Json(wait / (transfer + wait)) : Json(nullptr)}});
  }
  return out;
}

Json coverage_json(const LiveView& view) {
  const LiveCoverage c = view.job.coverage();
  return {{"records", c.records},
          {"matched", c.matched},
          {"unmatched", c.unmatched},
          {"unrecorded", c.unrecorded},
          {"dropped", c.dropped},
          {"not_gpu_timed", c.not_gpu_timed},
          {"point_to_point", c.point_to_point},
          {"least_bytes", c.least_bytes ? Json(*c.least_bytes) : Json(nullptr)}};
}

Json files_json(const FollowTotals& f) {
  Json kinds = Json::object();
  for (const auto& [kind, count] : f.kinds) kinds[kind] = count;
  return {{"files", f.files},
          {"kinds", kinds},
          {"missing", f.missing},
          {"left_out", f.left_out},
          {"bytes", f.bytes},
          {"skipped_bytes", f.skipped_bytes},
          {"lines", f.lines},
          {"not_understood", f.not_understood},
          {"without_marker", f.orphans},
          {"lost_lines", f.lost_lines},
          {"long_lines", f.long_lines},
          {"rotations", f.rotations},
          {"truncations", f.truncations}};
}

}  // namespace

Json live_event_json(const LiveEvent& e, double now) {
  Json ranks = Json::array();
  for (const int rank : e.ranks)
    if (rank >= 0) ranks.push_back(rank);
  return {{"kind", live_event_names[static_cast<std::size_t>(e.kind)]},
          {"sentence", say(event_in_words(e))},
          {"age_s", std::max(0.0, now - e.at)},
          {"step", e.step >= 0 ? Json(e.step) : Json(nullptr)},
          {"since", e.since >= 0 ? Json(e.since) : Json(nullptr)},
          {"ranks", ranks},
          {"rank_count", e.rank_count},
          {"host", text_or_null(e.host)},
          {"communicator", text_or_null(e.communicator)},
          {"late_ns", real(e.late_ns)},
          {"step_ns", real(e.round_ns)},
          {"phase", text_or_null(e.phase)},
          {"change", change_json(e.change)},
          {"transfers", transfers_json(e.transfers)},
          {"seconds", real(e.seconds)}};
}

Json live_tree(const LiveView& view) {
  Json events = Json::array();
  for (const LiveEvent& e : view.job.events()) events.push_back(live_event_json(e, view.now));
  const LiveAnswer answer = live_answer(view);
  return {{"schema", "stepscope.live/1"},
          {"version", version()},
          {"answer",
           {{"fine", answer.fine ? Json(*answer.fine) : Json(nullptr)},
            {"sentence", say(answer.sentence)},
            {"unseen", text_or_null(say(answer.unseen))}}},
          {"followed_s", view.now - view.since},
          {"catching_up", view.catching_up},
          {"stands_still", view.job.stands_still()},
          {"steps", steps_json(view.job)},
          {"processes", processes_json(view)},
          {"communicators", communicators_json(view.job)},
          {"events", events},
          {"coverage", coverage_json(view)},
          {"files", files_json(view.files)}};
}

}  // namespace stepscope
