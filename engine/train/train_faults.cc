// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <thread>

namespace stepscope {
namespace {

bool active(const TrainFault& fault, std::int64_t step) {
  return step >= fault.from && (fault.until < 0 || step < fault.until);
}

}  // namespace

FaultObserver::FaultObserver(std::span<const TrainFault> faults, int rank,
                             const TrainProgress& progress)
    : progress_(progress) {
  for (const TrainFault& f : faults)
    if (f.rank == rank || f.rank < 0) faults_.push_back(f);
}

void FaultObserver::reach(FaultPhase phase) {
  for (TrainFault& f : faults_) {
    if (!ends_a_rank(f) || f.phase != phase || (step_ >= 0 && step_ != f.from)) continue;
    const int signal = f.kind == FaultKind::kill ? SIGKILL : SIGSTOP;
    progress_.say(TrainNote::Kind::fault,
                  fmt::format("--inject: rank {} gets {} at {} of step {}", f.rank,
                              signal == SIGKILL ? "SIGKILL" : "SIGSTOP",
                              fault_phase_names[static_cast<std::size_t>(phase)],
                              std::max<std::int64_t>(step_, 0)));
    f.kind = FaultKind::slow;  // by nothing: done
    std::raise(signal);
  }
}

void FaultObserver::before_step(std::int64_t step) {
  step_ = step;
  reach(FaultPhase::checkpoint);
  slower_ = 0;
  overlaps_ = true;
  for (const TrainFault& f : faults_) {
    if (!active(f, step)) continue;
    if (f.kind == FaultKind::slow) slower_ += f.percent / 100;
    if (f.kind == FaultKind::sync) overlaps_ = false;
    if (f.kind == FaultKind::sleep) std::this_thread::sleep_for(f.time);
  }
}

void FaultObserver::before_data(std::int64_t step) {
  reach(FaultPhase::data);
  for (const TrainFault& f : faults_)
    if (f.kind == FaultKind::data && active(f, step)) std::this_thread::sleep_for(f.time);
}

void FaultObserver::begin(const nn::OpCall& call) noexcept {
  if (next_ != nullptr) next_->begin(call);
  if (slower_ > 0) begun_ = monotonic_now();
}

// A slow core computes all the time.
void FaultObserver::end() noexcept {
  if (slower_ > 0) {
    const Ns took = monotonic_now() - begun_;
    const Ns until = monotonic_now() +
                     Ns{static_cast<std::int64_t>(static_cast<double>(took.count()) * slower_)};
    while (monotonic_now() < until) {
    }
  }
  if (next_ != nullptr) next_->end();
}

void FaultObserver::collective(const CollectiveRecord& record, std::string_view what,
                               std::int64_t in_elements, std::int64_t out_elements,
                               ElementType type) noexcept {
  if (next_ != nullptr) next_->collective(record, what, in_elements, out_elements, type);
  if (record.purpose == CollectivePurpose::gradients) reach(FaultPhase::exchange);
  if (what == "squares of gradients") reach(FaultPhase::optimizer);
}
void FaultObserver::moved(const zero::ShardMove& move) noexcept {
  if (next_ != nullptr) next_->moved(move);
}
void FaultObserver::step_begin(std::int64_t step) noexcept {
  if (next_ != nullptr) next_->step_begin(step);
}
void FaultObserver::step_end() noexcept {
  if (next_ != nullptr) next_->step_end();
}
void FaultObserver::range_begin(std::string_view name, Activity activity) noexcept {
  if (next_ != nullptr) next_->range_begin(name, activity);
  if (activity == Activity::forward) reach(FaultPhase::forward);
  if (activity == Activity::backward) reach(FaultPhase::backward);
}
void FaultObserver::range_end() noexcept {
  if (next_ != nullptr) next_->range_end();
}

}  // namespace stepscope
