// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/train_observer.h"

#include <thread>

namespace stepscope {
namespace {

bool active(const Fault& fault, std::int64_t step) {
  return step >= fault.from && (fault.until < 0 || step < fault.until);
}

}  // namespace

FaultObserver::FaultObserver(std::span<const Fault> faults, int rank, zero::EngineObserver* next)
    : next_(next) {
  for (const Fault& f : faults)
    if (f.rank == rank) faults_.push_back(f);
}

void FaultObserver::before_step(std::int64_t step) {
  slower_ = 0;
  for (const Fault& f : faults_) {
    if (!active(f, step)) continue;
    if (f.kind == FaultKind::slow) slower_ += f.percent / 100;
    if (f.kind == FaultKind::sleep) std::this_thread::sleep_for(f.time);
  }
}

void FaultObserver::before_data(std::int64_t step) const {
  for (const Fault& f : faults_)
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
}
void FaultObserver::range_end() noexcept {
  if (next_ != nullptr) next_->range_end();
}

}  // namespace stepscope
