// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <utility>

namespace stepscope::zero {

CheckpointWriter::CheckpointWriter(std::string dir, int rank)
    : dir_(std::move(dir)),
      rank_(rank),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::begin(const CheckpointInfo& info, std::span<const StateExtent> extents) {
  check(!busy(), "one checkpoint is written at a time");
  std::size_t floats = 0;
  for (const StateExtent& e : extents) floats += e.master.size() + e.m.size() + e.v.size();
  info_ = info;
  copy_.resize(floats);
  extents_.assign(extents.begin(), extents.end());
  float* at = copy_.data();
  for (StateExtent& e : extents_) {
    for (std::span<float>* part : {&e.master, &e.m, &e.v}) {
      std::ranges::copy(*part, at);
      *part = {at, part->size()};
      at += part->size();
    }
  }
  const std::lock_guard lock(mutex_);
  state_ = State::writing;
  changed_.notify_all();
}

void CheckpointWriter::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // A write that has begun is finished even when the owner is destroyed.
  while (changed_.wait(lock, stop, [this] { return state_ == State::writing; }) ||
         state_ == State::writing) {
    lock.unlock();
    Result<Done> result = write_checkpoint_part(dir_, info_, rank_, extents_);
    lock.lock();
    result_ = std::move(result);
    state_ = State::written;
    changed_.notify_all();
  }
}

bool CheckpointWriter::busy() const {
  const std::lock_guard lock(mutex_);
  return state_ != State::idle;
}

std::optional<Result<Done>> CheckpointWriter::take() {
  if (state_ != State::written) return std::nullopt;
  state_ = State::idle;
  return std::exchange(result_, std::nullopt);
}

std::optional<Result<Done>> CheckpointWriter::finished() {
  const std::lock_guard lock(mutex_);
  return take();
}

std::optional<Result<Done>> CheckpointWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return state_ != State::writing; });
  return take();
}

}  // namespace stepscope::zero
