// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/live.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace stepscope {
namespace {

constexpr double look_s = 5;         // between two looks for new files
constexpr double longest_nap = 0.1;  // so that a signal is answered

double clock_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void sleep_until(double when, const Progress& progress) {
  for (double left = when - clock_now(); left > 0 && !progress.stopped(); left = when - clock_now())
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, longest_nap)));
}

}  // namespace

Result<Done> live(const LiveRequest& request, const std::function<bool(const LiveView&)>& show,
                  const Progress& progress) {
  raise_open_files();
  FollowedFiles files(request.sources, request.follow);
  if (auto looked = files.look(); !looked) return looked.error();
  JobState job(request.limits);
  const double since = clock_now();
  double looked_at = since;
  for (double due = since;; due = std::max(due + request.interval_s, clock_now())) {
    double now = clock_now();
    if (now - looked_at >= look_s) {
      static_cast<void>(files.look());
      looked_at = now;
    }
    std::vector<Error> errors;
    bool more = true;
    do {
      more = files.poll(job, now, errors, progress.stop);
      if (request.once && !more && files.waiting()) {
        sleep_until(now + longest_nap, progress);
        more = true;
      }
      now = clock_now();
    } while (more && !progress.stopped() && (request.once || now - due < request.interval_s));
    progress.report(errors);
    if (progress.stopped()) return Done{};
    // At the end of a single reading nothing is waited for any more.
    if (request.once) job.close_all(now);
    job.settle(now);
    const FollowTotals totals = files.totals();
    const LiveView view{.job = job,
                        .files = totals,
                        .events = job.take_events(),
                        .now = now,
                        .since = since,
                        .catching_up = more};
    const bool told = !job.processes().empty() || job.ras_statuses() > 0;
    if (request.once && !told)
      return Error{.what = "no source tells anything about a job",
                   .file = request.sources.front(),
                   .hint = "stepscope help live lists what is read"};
    if (!show(view) || request.once) return Done{};
    if (request.for_s > 0 && now - since >= request.for_s) return Done{};
    sleep_until(due + request.interval_s, progress);
    if (progress.stopped()) return Done{};
  }
}

}  // namespace stepscope
