// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/live/live.h"

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

LiveFollower::LiveFollower(const LiveRequest& request)
    : request_(request),
      files_(std::make_unique<FollowedFiles>(request.sources, request.follow)),
      job_(std::make_unique<JobState>(request.limits)),
      totals_(std::make_unique<FollowTotals>()),
      since_(clock_now()),
      looked_(since_),
      due_(since_) {}

Result<LiveFollower> LiveFollower::open(const LiveRequest& request) {
  raise_open_files();
  LiveRequest described = request;
  if (!request.log_pattern.empty()) {
    auto pattern = parse_line_pattern(request.log_pattern);
    if (!pattern) return pattern.error();
    described.follow.pattern = *std::move(pattern);
  }
  LiveFollower follower(described);
  if (auto looked = follower.files_->look(); !looked) return looked.error();
  return follower;
}

Result<LiveView> LiveFollower::read(bool all, const Progress& progress) {
  double now = due_ = clock_now();
  if (now - looked_ >= look_s) {
    static_cast<void>(files_->look());
    looked_ = now;
  }
  std::vector<Error> errors;
  bool more = true;
  do {
    more = files_->poll(*job_, now, errors, progress.stop);
    if (all && !more && files_->waiting()) {
      sleep_until(now + longest_nap, progress);
      more = true;
    }
    now = clock_now();
  } while (more && !progress.stopped() && (all || now - due_ < request_.interval_s));
  progress.report(errors);
  // At the end of a single reading nothing is waited for any more.
  if (all) {
    files_->conclude(*job_, now);
    job_->close_all(now);
  }
  job_->settle(now);
  *totals_ = files_->totals();
  if (all && job_->processes().empty() && job_->ras_statuses() == 0 && !progress.stopped())
    return Error{.what = "no source tells anything about a job",
                 .file = request_.sources.front(),
                 .hint =
                     "name what the job writes: files of steps, metrics of the engine, logs, or "
                     "JSON lines of NCCL Inspector"};
  return LiveView{.job = *job_,
                  .files = *totals_,
                  .events = job_->take_events(),
                  .now = now,
                  .since = since_,
                  .catching_up = more};
}

void LiveFollower::wait(const Progress& progress) const {
  sleep_until(due_ + request_.interval_s, progress);
}

Result<Done> live(const LiveRequest& request, const std::function<bool(const LiveView&)>& show,
                  const Progress& progress) {
  auto follower = LiveFollower::open(request);
  if (!follower) return follower.error();
  while (true) {
    const auto view = follower->read(request.once, progress);
    if (progress.stopped()) return Done{};
    if (!view) return view.error();
    if (!show(*view) || request.once) return Done{};
    if (request.for_s > 0 && view->now - view->since >= request.for_s) return Done{};
    follower->wait(progress);
    if (progress.stopped()) return Done{};
  }
}

}  // namespace stepscope
