// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/window/window_group.h"

#include <sched.h>

#include <algorithm>

#include "engine/comm/communicator/copy.h"
#include "engine/comm/communicator/futex.h"
#include "stepscope/base/isa.h"

namespace stepscope::comm {
namespace {

constexpr std::size_t kept_collectives = 512;
constexpr std::size_t kept_of_pair = 64;
constexpr Ns pause_limit = std::chrono::microseconds(1);
constexpr Ns spin_limit = std::chrono::microseconds(30);
StepPlace place_of(const Operation& operation, int rank, const WindowShape& shape) {
  return {rank, static_cast<int>(shape.ranks), shape.slot_bytes, operation.header.bytes,
          operation.header.bytes >= streaming_from_bytes};
}

}  // namespace

WindowGroup::WindowGroup(WindowGroupSetup setup)
    : setup_(std::move(setup)),
      window_(*setup_.window),
      ranks_(window_.ranks()),
      queue_(kept_collectives),
      seen_staged_(static_cast<std::size_t>(ranks_)),
      slots_(static_cast<std::size_t>(ranks_)),
      pairs_(2 * static_cast<std::size_t>(ranks_)),
      peers_(static_cast<std::size_t>(ranks_)) {
  if (!setup_.processes) {
    window_.control(setup_.rank).state = RankState::joined;
    return;
  }
  for (int p = 0; p < ranks_; ++p) {
    if (p != setup_.rank) {
      peers_[static_cast<std::size_t>(p)] = PeerProcess(window_.control(p).pid.load());
    }
  }
}

WindowGroup::~WindowGroup() {
  if (!failure_) window_.control(setup_.rank).state = RankState::left;
  wake_all();
}

void WindowGroup::wake_all() const {
  for (int p = 0; p < ranks_; ++p) {
    if (p != setup_.rank) ring(window_.control(p));
  }
}

void WindowGroup::begin(Operation& operation, const CollectiveRequest& request,
                        std::uint64_t sequence) {
  operation = Operation{};
  operation.request = request;
  operation.times.submitted = monotonic_now();
  BucketHeader& header = operation.header;
  header.sequence = sequence;
  header.bytes = static_cast<std::uint64_t>(collective_payload(request, ranks_).value);
  header.submitted_ns = operation.times.submitted.count();
  header.root = request.peer;
  header.kind = request.kind;
  header.type = request.type;
  header.reduction = request.reduction;
  header.what = what_text(request.what);
  header.site = call_site(request.where);
  window_.control(setup_.rank).position.store(header);
}

Result<Ticket> WindowGroup::submit(const CollectiveRequest& request) {
  if (failure_) return *failure_;
  if (auto fault = request_fault(request, setup_.rank, ranks_)) return *fault;
  if (request.kind == CollectiveKind::send || request.kind == CollectiveKind::recv) {
    return submit_pair(request);
  }
  const std::uint64_t sequence = queue_.submitted();
  if (queue_.full(taking_)) {
    return Error{.what = setup_.name + ": rank " + std::to_string(setup_.rank) + " has " +
                         std::to_string(kept_collectives) + " unfinished collectives",
                 .hint = "wait for earlier tickets first"};
  }
  Operation& operation = queue_.push();
  begin(operation, request, sequence);
  if (request.kind != CollectiveKind::broadcast) operation.header.root = -1;
  operation.steps = collective_steps(request.kind);
  operation.first_chunk = next_chunk_;
  operation.chunks = operation.steps->chunks(place_of(operation, setup_.rank, window_.shape()));
  next_chunk_ += operation.chunks;
  while (!failure_ && stage_chunk()) {
  }
  return Ticket{sequence, -1};
}

Result<Ticket> WindowGroup::submit_pair(const CollectiveRequest& request) {
  const bool sends = request.kind == CollectiveKind::send;
  const int channel = 2 * request.peer + (sends ? 0 : 1);
  auto& lane = pairs_[static_cast<std::size_t>(channel)];
  if (lane == nullptr) lane = std::make_unique<PairLane>(kept_of_pair);
  if (lane->queue.full(lane->finished)) {
    return Error{.what = setup_.name + ": rank " + std::to_string(setup_.rank) + " has " +
                         std::to_string(kept_of_pair) + " unfinished " +
                         (sends ? "sends to" : "receives from") + " rank " +
                         std::to_string(request.peer),
                 .hint = "wait for earlier tickets first"};
  }
  const std::uint64_t sequence = lane->queue.submitted();
  Operation& operation = lane->queue.push();
  begin(operation, request, sequence);
  operation.first_chunk = lane->next_first;
  operation.chunks = pieces(operation.header.bytes, window_.shape().pair_slot_bytes);
  lane->next_first += operation.chunks;
  ++unfinished_pairs_;
  if (sends) {
    while (!failure_ && send_chunk(request.peer, *lane)) {
    }
  }
  return Ticket{sequence, channel};
}

bool WindowGroup::slot_free(std::uint64_t chunk) {
  if (chunk < free_until_) return true;
  std::uint64_t least = taken_;
  for (int p = 0; p < ranks_; ++p) {
    if (p == setup_.rank) continue;
    least = std::min(least, window_.control(p).taken.load(std::memory_order_acquire));
  }
  free_until_ = least + window_.shape().slots;
  return chunk < free_until_;
}

// Stages the next chunk if its bucket is free and its data is ready.
bool WindowGroup::stage_chunk() {
  if (staging_ == queue_.submitted()) return false;
  const Operation& operation = queue_[staging_];
  const StepPlace at = place_of(operation, setup_.rank, window_.shape());
  const std::size_t k = staged_ - operation.first_chunk;
  const std::uint64_t taken = taken_ > operation.first_chunk ? taken_ - operation.first_chunk : 0;
  if (operation.steps->taken_before(at, k) > taken || !slot_free(staged_)) return false;
  BucketHeader& header = window_.header(setup_.rank, staged_);
  header = operation.header;
  header.chunk = static_cast<std::uint32_t>(k);
  operation.steps->stage(at, operation.request, k, window_.slot(setup_.rank, staged_));
  window_.control(setup_.rank).staged.store(++staged_);
  if (k + 1 == operation.chunks) ++staging_;
  wake_all();
  return true;
}

bool WindowGroup::peers_staged() {
  for (int p = 0; p < ranks_; ++p) {
    if (p == setup_.rank) continue;
    std::uint64_t& seen = seen_staged_[static_cast<std::size_t>(p)];
    if (seen > taken_) continue;
    seen = window_.control(p).staged.load(std::memory_order_acquire);
    if (seen <= taken_) return false;
  }
  return true;
}

// All ranks have staged the first chunk of an operation.
void WindowGroup::note_arrival(Operation& operation) {
  Ns last = operation.times.submitted;
  for (int p = 0; p < ranks_; ++p) {
    last = std::max(last, Ns{window_.header(p, taken_).submitted_ns});
  }
  operation.times.last_arrival = last;
  operation.state = OperationState::arrived;
}

// Takes the next chunk if all ranks have staged theirs.
bool WindowGroup::take_chunk() {
  if (taken_ >= staged_) return false;
  Operation& operation = queue_[taking_];
  if (!peers_staged()) return false;
  const StepPlace at = place_of(operation, setup_.rank, window_.shape());
  const std::size_t k = taken_ - operation.first_chunk;
  const BucketHeader& own = window_.header(setup_.rank, taken_);
  for (int p = 0; p < ranks_; ++p) {
    if (p != setup_.rank && !same_collective(own, window_.header(p, taken_))) {
      report_mismatch(operation, p, window_.header(p, taken_));
      return false;
    }
    slots_[static_cast<std::size_t>(p)] = window_.slot(p, taken_);
  }
  if (k == 0) note_arrival(operation);
  operation.steps->take(at, operation.request, k, slots_);
  window_.control(setup_.rank).taken.store(++taken_);
  if (k + 1 == operation.chunks) {
    finish(operation);
    ++taking_;
  }
  wake_all();
  return true;
}

void WindowGroup::finish(Operation& operation) {
  operation.state = OperationState::done;
  operation.times.finished = monotonic_now();
}

void WindowGroup::end_chunk(Operation& operation, std::size_t k, int peer, PairLane& lane) {
  if (k + 1 == operation.chunks) {
    finish(operation);
    ++lane.finished;
    --unfinished_pairs_;
  }
  ring(window_.control(peer));
}

bool WindowGroup::send_chunk(int peer, PairLane& lane) {
  if (lane.finished == lane.queue.submitted()) return false;
  Operation& operation = lane.queue[lane.finished];
  PairControl& pair = window_.pair(setup_.rank, peer);
  const WindowShape& shape = window_.shape();
  if (lane.chunks >= pair.taken.load(std::memory_order_acquire) + shape.pair_slots) return false;
  const std::size_t k = lane.chunks - operation.first_chunk;
  const Extent part = piece(operation.header.bytes, shape.pair_slot_bytes, k);
  BucketHeader& header = window_.pair_header(setup_.rank, peer, lane.chunks);
  header = operation.header;
  header.chunk = static_cast<std::uint32_t>(k);
  copy_message(window_.pair_slot(setup_.rank, peer, lane.chunks),
               operation.request.in.data() + part.begin, part.size,
               operation.header.bytes >= streaming_from_bytes);
  pair.staged.store(++lane.chunks);
  end_chunk(operation, k, peer, lane);
  return true;
}

bool WindowGroup::recv_chunk(int peer, PairLane& lane) {
  if (lane.finished == lane.queue.submitted()) return false;
  Operation& operation = lane.queue[lane.finished];
  PairControl& pair = window_.pair(peer, setup_.rank);
  if (pair.staged.load(std::memory_order_acquire) <= lane.chunks) return false;
  const WindowShape& shape = window_.shape();
  const std::size_t k = lane.chunks - operation.first_chunk;
  const BucketHeader& header = window_.pair_header(peer, setup_.rank, lane.chunks);
  if (header.bytes != operation.header.bytes || header.type != operation.header.type ||
      header.sequence != operation.header.sequence) {
    report_mismatch(operation, peer, header);
    return false;
  }
  if (k == 0) {
    operation.times.last_arrival = std::max(operation.times.submitted, Ns{header.submitted_ns});
    operation.state = OperationState::arrived;
  }
  const Extent part = piece(operation.header.bytes, shape.pair_slot_bytes, k);
  copy_message(operation.request.out.data() + part.begin,
               window_.pair_slot(peer, setup_.rank, lane.chunks), part.size,
               operation.header.bytes >= streaming_from_bytes);
  pair.taken.store(++lane.chunks);
  end_chunk(operation, k, peer, lane);
  return true;
}

bool WindowGroup::progress_pairs() {
  bool moved = false;
  for (std::size_t c = 0; c < pairs_.size() && !failure_; ++c) {
    if (pairs_[c] == nullptr) continue;
    const int peer = static_cast<int>(c / 2);
    while (!failure_ &&
           (c % 2 == 0 ? send_chunk(peer, *pairs_[c]) : recv_chunk(peer, *pairs_[c]))) {
      moved = true;
    }
  }
  return moved;
}

// Does all work that is possible now. Returns whether anything moved.
bool WindowGroup::progress() {
  bool moved = false;
  for (bool step = true; step && !failure_;) {
    step = stage_chunk();
    step = take_chunk() || step;
    if (!failure_ && unfinished_pairs_ > 0) step = progress_pairs() || step;
    moved = moved || step;
  }
  return moved;
}

// Polls for a while if there are cores to spare, then sleeps until a peer rings or `limit` passes.
// After the first microsecond each poll yields the core: another program can have put two ranks on
// one core, and the peer could then not run before the polls end.
void WindowGroup::sleep(Ns limit, bool& moved) {
  if (setup_.spin) {
    const Ns begin = monotonic_now();
    for (Ns now = begin; now < begin + spin_limit; now = monotonic_now()) {
      if (now < begin + pause_limit) {
        for (int i = 0; i < 4; ++i) _mm_pause();
      } else {
        ::sched_yield();
      }
      moved = progress();
      if (moved || failure_) return;
    }
  }
  RankControl& control = window_.control(setup_.rank);
  const std::uint32_t rings = control.doorbell.load();
  control.sleeping.store(1);
  moved = progress();
  if (!moved && !failure_) futex_wait(control.doorbell, rings, limit);
  control.sleeping.store(0);
}

Result<Operation*> WindowGroup::find(Ticket ticket) {
  OperationQueue* queue = &queue_;
  if (ticket.channel >= 0) {
    const auto channel = static_cast<std::size_t>(ticket.channel);
    queue = channel < pairs_.size() && pairs_[channel] ? &pairs_[channel]->queue : nullptr;
  }
  if (queue == nullptr || ticket.sequence >= queue->submitted()) {
    return Error{
        .what = setup_.name + ": no ticket #" + std::to_string(ticket.sequence) + " was given out",
        .hint = "pass what submit() returned"};
  }
  if (ticket.sequence < queue->oldest()) {
    return Error{.what = setup_.name + ": ticket #" + std::to_string(ticket.sequence) +
                         " finished too long ago: its record is gone",
                 .hint = "wait for tickets before many others are submitted"};
  }
  return &(*queue)[ticket.sequence];
}

Result<bool> WindowGroup::test(Ticket ticket) {
  if (failure_) return *failure_;
  const auto found = find(ticket);
  if (!found) return found.error();
  Operation& operation = **found;
  const bool moved = operation.state != OperationState::done && progress();
  if (operation.state == OperationState::done) return true;
  const Ns now = monotonic_now();
  if (moved || !operation.polled_since) operation.polled_since = now;
  if (!failure_ && !moved) look_for_faults(now, now - *operation.polled_since);
  if (failure_) return *failure_;
  return operation.state == OperationState::done;
}

Result<CollectiveInstants> WindowGroup::wait(Ticket ticket) {
  if (failure_) return *failure_;
  const auto found = find(ticket);
  if (!found) return found.error();
  const Operation& operation = **found;
  bool moved = operation.state != OperationState::done && progress();
  for (Ns since = monotonic_now(); operation.state != OperationState::done && !failure_;) {
    sleep(std::min(look_interval, setup_.deadline), moved);
    const Ns now = monotonic_now();
    if (moved) {
      since = now;
    } else if (!failure_) {
      look_for_faults(now, now - since);
    }
  }
  if (operation.state != OperationState::done) return *failure_;
  return operation.times;
}

}  // namespace stepscope::comm
