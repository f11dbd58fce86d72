// SPDX-License-Identifier: Apache-2.0
#include "followed_job.h"

#include <filesystem>
#include <vector>

#include "stepscope/live/followed_files.h"
#include "stepscope/live/job_state.h"

namespace stepscope {

namespace fs = std::filesystem;

FollowedJob follow_job(const WrittenJobSetting& s, std::uint64_t seed, std::int64_t steps,
                       const std::string& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  WrittenJob job(s, seed, folder);
  job.step();
  FollowedFiles files({folder}, {});
  JobState state;
  std::vector<Error> errors;
  FollowedJob out;
  if (!files.look()) return out;
  while (job.steps() < steps) {
    while (files.poll(state, job.now_s(), errors)) {
    }
    state.settle(job.now_s());
    for (const LiveEvent& e : state.take_events()) {
      if (e.kind == LiveEventKind::longer_transfers) {
        for (const auto& c : state.communicators()) {
          if (c->transfers() == nullptr || !c->transfers()->longer()) continue;
          const bool right = s.fault == WrittenFault::link && job.steps() > s.slow_from &&
                             c->id() == WrittenJob::slow_communicator(s);
          if (right && out.link < 0) out.link = job.steps() - s.slow_from;
          out.wrong_links += right ? 0 : 1;
        }
      }
      out.changes += e.change ? 1 : 0;
      if (e.kind != LiveEventKind::late) continue;
      const auto count = [&](bool slow) {
        const bool right = slow && s.fault != WrittenFault::link && job.steps() > s.slow_from;
        if (right && out.right < 0) out.right = job.steps() - s.slow_from;
        out.wrong += right ? 0 : 1;
      };
      if (s.files_of_steps)
        for (const int rank : e.ranks) count(rank == s.slow_rank);
      else
        for (const LiveProcess& p : state.processes())
          if (!p.late_in.empty() && !p.was_late) count(p.pid == WrittenJob::pid_of(s.slow_rank));
    }
    job.step();
  }
  out.step_s = state.curve().recent_ns().value_or(0) / 1e9;
  out.lines = files.totals().lines;
  fs::remove_all(folder);
  return out;
}

}  // namespace stepscope
