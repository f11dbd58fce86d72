// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/straggler_job_json.h"

#include <span>

#include "stepscope/report/json/pipeline_json.h"

namespace stepscope {
namespace {

Json explained_json(const Explained& e) {
  return {{"removed_step_ns", nanoseconds_of(e.removed)},
          {"added_step_ns", nanoseconds_of(e.added)},
          {"rem", real(e.rem)},
          {"add", real(e.add)}};
}

Json balance_json(const std::optional<StageBalance>& balance) {
  if (!balance) return nullptr;
  return {{"slowest", balance->slowest},
          {"more", balance->more},
          {"balanced_step_ns", nanoseconds_of(balance->step)},
          {"rem", real(balance->rem)}};
}

Json groups_json(std::span<const GroupSlowdown> groups) {
  Json out = Json::array();
  for (const GroupSlowdown& g : groups)
    out.push_back({{"name", g.name}, {"s", g.slowdown}, {"steps", g.steps}});
  return out;
}

}  // namespace

Json straggler_job_json(const StragglerJob& job) {
  const JobMeta& m = job.meta;
  Json steps = Json::array();
  for (const OperationStep& s : job.steps)
    steps.push_back({{"step", s.step},
                     {"measured_ns", value(s.measured)},
                     {"replayed_ns", value(s.replayed)},
                     {"ideal_ns", value(s.ideal)},
                     {"s", s.slowdown},
                     {"s_host", s.host_slowdown}});
  Json workers = Json::array();
  for (const JobWorker& w : job.workers)
    workers.push_back({{"rank", w.rank},
                       {"dp_rank", w.dp_rank},
                       {"stage", w.stage},
                       {"score", w.score},
                       {"rem", real(w.rem)},
                       {"removed_step_ns", nanoseconds_of(w.removed)}});
  Json free = Json::array();
  for (const CommFree& f : job.comm_free)
    free.push_back({{"kind", f.name}, {"step_ns", nanoseconds_of(f.step)}, {"speedup", f.speedup}});
  Json worst = explained_json(job.m_w);
  worst["ranks"] = job.worst;
  Json last = explained_json(job.m_s);
  last["stage"] = job.stages - 1;
  return {{"trial_name", text_or_null(m.trial_name)},
          {"sizes",
           {{"dp", value(m.dp_size)},
            {"pp", value(m.pp_size)},
            {"tp", value(m.tp_size)},
            {"dsp", value(m.dsp_size)},
            {"vpp", value(m.vpp_size)},
            {"world", value(m.world_size)}}},
          {"dp_ranks", job.dp_ranks.size()},
          {"stages", job.stages},
          {"operations", job.operations},
          {"nodes", job.nodes},
          {"s", job.s},
          {"waste", job.waste},
          {"m_w", real(job.m_w.rem)},
          {"m_s", real(job.m_s.rem)},
          {"m_w_share", real(job.m_w.share())},
          {"m_s_share", real(job.m_s.share())},
          {"s_host", job.s_host},
          {"launch_slowdown", job.launch_slowdown},
          {"replay_error", job.replay_error},
          {"measured_step_ns", nanoseconds_of(job.measured)},
          {"replayed_step_ns", nanoseconds_of(job.replayed)},
          {"ideal_step_ns", nanoseconds_of(job.ideal)},
          {"steps", std::move(steps)},
          {"worst_workers", std::move(worst)},
          {"last_stage", std::move(last)},
          {"by_operation", groups_json(job.by_operation)},
          {"by_dp_rank", groups_json(job.by_dp_rank)},
          {"by_stage", groups_json(job.by_stage)},
          {"workers", std::move(workers)},
          {"without_communication", std::move(free)},
          {"stage_balance", balance_json(job.balance)},
          {"pipeline", job_bubble_json(job.bubble)},
          {"fwd_bwd_correlation", real(job.fwd_bwd_correlation)},
          {"fwd_variation", real(job.fwd_variation)},
          {"left_out", job.left_out},
          {"notes", job.notes}};
}

}  // namespace stepscope
