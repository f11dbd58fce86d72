// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups/mpi_exchange.h"

#ifdef STEPSCOPE_HAS_MPI

#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "engine/comm/window/window_group.h"
#include "engine/comm/window/window_join.h"

namespace stepscope::comm {
namespace {

constexpr std::size_t kept_collectives = 512;
constexpr std::size_t kept_of_pair = 64;
constexpr std::size_t largest_message = 1 << 20;  // of a bucket
constexpr std::size_t largest_pair_message = 1 << 30;

BucketHeader header_of(const CollectiveRequest& request, std::uint64_t sequence, int ranks,
                       Ns submitted) {
  BucketHeader header;
  header.sequence = sequence;
  header.bytes = static_cast<std::uint64_t>(collective_payload(request, ranks).value);
  header.submitted_ns = submitted.count();
  header.root = request.kind == CollectiveKind::broadcast ? request.peer : -1;
  header.kind = request.kind;
  header.type = request.type;
  header.reduction = request.reduction;
  header.what = what_text(request.what);
  header.site = call_site(request.where);
  return header;
}

}  // namespace

MpiExchange::MpiExchange(MPI_Comm headers, MPI_Comm data, std::string name, MpiOptions options,
                         Ns deadline)
    : headers_(headers),
      data_(data),
      name_(std::move(name)),
      options_(options),
      deadline_(deadline),
      collectives_(kept_collectives) {
  MPI_Comm_rank(data_, &rank_);
  MPI_Comm_size(data_, &ranks_);
  const auto n = static_cast<std::size_t>(ranks_);
  pairs_.resize(2 * n);
  slots_.resize(n);
  counts_.resize(n);
  offsets_.resize(n);
  arrived_offsets_.resize(n);
}

MpiExchange::~MpiExchange() {
  int ended = 0;
  MPI_Finalized(&ended);
  mpi_failed() = mpi_failed() || failure_;
  if (ended != 0 || failure_) return;  // after a failure, unfinished operations cannot be ended
  MPI_Comm_free(&headers_);
  MPI_Comm_free(&data_);
}

// The bytes sent to one rank at once; no more than a short message needs.
std::size_t MpiExchange::message_bytes(const Operation& operation) const {
  const auto n = static_cast<std::size_t>(ranks_);
  std::size_t most = operation.header.bytes;
  if (operation.header.kind == CollectiveKind::all_reduce && most * n > all_reduce_short_bytes) {
    most = (most + n - 1) / n;
  }
  return std::min(most, largest_message) / 64 * 64 + 64;
}

StepPlace MpiExchange::place_of(const Operation& operation) const {
  const bool alike = operation.header.kind == CollectiveKind::all_gather ||
                     operation.header.kind == CollectiveKind::broadcast;
  const auto parts = static_cast<std::size_t>(alike ? 1 : std::max(1, ranks_ - 1));
  return {rank_, ranks_, message_bytes(operation) * parts, operation.header.bytes, false};
}

Result<Ticket> MpiExchange::submit(const CollectiveRequest& request) {
  if (failure_) return *failure_;
  if (auto fault = request_fault(request, rank_, ranks_)) return *fault;
  const bool sends = request.kind == CollectiveKind::send;
  const bool pair = sends || request.kind == CollectiveKind::recv;
  const int channel = pair ? 2 * request.peer + (sends ? 0 : 1) : -1;
  Lane* lane = &collectives_;
  if (pair) {
    auto& own = pairs_[static_cast<std::size_t>(channel)];
    if (own == nullptr) own = std::make_unique<Lane>(kept_of_pair);
    lane = own.get();
  }
  if (lane->queue.full(lane->finished)) {
    return Error{.what = name_ + ": rank " + std::to_string(rank_) + " has too many unfinished " +
                         (pair ? "messages for one rank" : "collectives"),
                 .hint = "wait for earlier tickets first"};
  }
  const std::uint64_t sequence = lane->queue.submitted();
  Operation& operation = lane->queue.push();
  Flight& flight = lane->flight(sequence);
  operation = Operation{};
  operation.request = request;
  operation.times.submitted = monotonic_now();
  operation.header = header_of(request, sequence, ranks_, operation.times.submitted);
  flight.chunks_done = 0;
  flight.own = operation.header;
  if (pair) {
    operation.header.root = request.peer;
    start_pair(operation, flight);
    return Ticket{sequence, channel};
  }
  operation.steps = collective_steps(request.kind);
  operation.chunks = operation.steps->chunks(place_of(operation));
  flight.headers.resize(static_cast<std::size_t>(ranks_));
  flight.requests.resize(1);
  MPI_Iallgather(&flight.own, sizeof flight.own, MPI_BYTE, flight.headers.data(), sizeof flight.own,
                 MPI_BYTE, headers_, flight.requests.data());
  progress();
  return Ticket{sequence, -1};
}

// Header and data have tags of their own; MPI keeps the order within a pair of ranks.
void MpiExchange::start_pair(Operation& operation, Flight& flight) {
  const CollectiveRequest& request = operation.request;
  const bool sends = request.kind == CollectiveKind::send;
  flight.headers.resize(1);
  flight.requests.assign(1, MPI_REQUEST_NULL);
  MPI_Request& first = flight.requests[0];
  if (sends) {
    MPI_Isend(&flight.own, sizeof flight.own, MPI_BYTE, request.peer, 0, headers_, &first);
  } else {
    MPI_Irecv(flight.headers.data(), sizeof flight.own, MPI_BYTE, request.peer, 0, headers_,
              &first);
  }
  const std::size_t bytes = operation.header.bytes;
  for (std::size_t k = 0; bytes > 0 && k < pieces(bytes, largest_pair_message); ++k) {
    const Extent part = piece(bytes, largest_pair_message, k);
    const int size = static_cast<int>(part.size);
    MPI_Request& next = flight.requests.emplace_back(MPI_REQUEST_NULL);
    if (sends) {
      MPI_Isend(request.in.data() + part.begin, size, MPI_BYTE, request.peer, 1, data_, &next);
    } else {
      MPI_Irecv(request.out.data() + part.begin, size, MPI_BYTE, request.peer, 1, data_, &next);
    }
  }
}

bool MpiExchange::check_headers(const Operation& operation, const Flight& flight) {
  const bool pair = operation.steps == nullptr;
  for (std::size_t p = 0; p < flight.headers.size(); ++p) {
    const BucketHeader& theirs = flight.headers[p];
    const BucketHeader& own = flight.own;
    const bool same = pair ? theirs.bytes == own.bytes && theirs.type == own.type &&
                                 theirs.sequence == own.sequence
                           : same_collective(own, theirs);
    if (same) continue;
    const std::string peer = std::to_string(pair ? operation.request.peer : static_cast<int>(p));
    failure_ = Error{.what = name_ + ": rank " + std::to_string(rank_) + " in " +
                             header_text(operation.header) + ": rank " + peer + " called " +
                             header_text(theirs) + " instead",
                     .hint =
                         "all ranks of a group must call the same collectives in the same "
                         "order",
                     .code = ErrorCode::group_failed};
    return false;
  }
  return true;
}

void MpiExchange::start_chunk(const Operation& operation, std::size_t k) {
  const StepPlace at = place_of(operation);
  const auto n = static_cast<std::size_t>(ranks_);
  const BucketPattern pattern = operation.steps->pattern(at, k);
  staged_.resize(std::max(staged_.size(), at.slot_bytes));
  arrived_.resize(std::max(arrived_.size(), n * at.slot_bytes));
  operation.steps->stage(at, operation.request, k, staged_.data());
  const std::size_t message = message_bytes(operation);
  const std::size_t stride = pattern == BucketPattern::parts ? at.slot_bytes : message;
  const int whole = static_cast<int>(message);
  const auto own = static_cast<std::size_t>(rank_);
  for (std::size_t p = 0; p < n; ++p) slots_[p] = arrived_.data() + p * stride;
  if (pattern == BucketPattern::whole) {
    MPI_Iallgather(staged_.data(), whole, MPI_BYTE, arrived_.data(), whole, MPI_BYTE, data_,
                   &chunk_);
  } else if (pattern == BucketPattern::from_root) {
    const int root = operation.request.peer;
    const bool mine = root == rank_;
    std::byte* bucket =
        mine ? staged_.data() : arrived_.data() + static_cast<std::size_t>(root) * stride;
    MPI_Ibcast(bucket, whole, MPI_BYTE, root, data_, &chunk_);
  } else if (pattern == BucketPattern::parts) {
    for (std::size_t p = 0; p < n; ++p) {
      const int peer = static_cast<int>(p);
      counts_[p] = p == own ? 0 : static_cast<int>(part_bytes(at));
      offsets_[p] = p == own ? 0 : static_cast<int>(part_offset(at, rank_, peer));
      arrived_offsets_[p] =
          p == own ? 0 : static_cast<int>(p * at.slot_bytes + part_offset(at, peer, rank_));
    }
    MPI_Ialltoallv(staged_.data(), counts_.data(), offsets_.data(), MPI_BYTE, arrived_.data(),
                   counts_.data(), arrived_offsets_.data(), MPI_BYTE, data_, &chunk_);
  } else {
    chunk_ = MPI_REQUEST_NULL;  // the headers were the barrier
  }
}

void MpiExchange::finish(Operation& operation) {
  operation.state = OperationState::done;
  operation.times.finished = monotonic_now();
}

bool MpiExchange::progress_collective() {
  if (collectives_.finished == collectives_.queue.submitted()) return false;
  Operation& operation = collectives_.queue[collectives_.finished];
  Flight& flight = collectives_.flight(collectives_.finished);
  int done = 0;
  if (operation.state == OperationState::submitted) {
    MPI_Test(flight.requests.data(), &done, MPI_STATUS_IGNORE);
    if (done == 0 || !check_headers(operation, flight)) return false;
    operation.state = OperationState::arrived;
  }
  if (!chunk_started_) {
    start_chunk(operation, flight.chunks_done);
    chunk_started_ = true;
  }
  MPI_Test(&chunk_, &done, MPI_STATUS_IGNORE);
  if (done == 0) return false;
  chunk_started_ = false;
  operation.steps->take(place_of(operation), operation.request, flight.chunks_done, slots_);
  if (++flight.chunks_done == operation.chunks) {
    finish(operation);
    ++collectives_.finished;
  }
  return true;
}

bool MpiExchange::progress_pair(Lane& lane) {
  if (lane.finished == lane.queue.submitted()) return false;
  Operation& operation = lane.queue[lane.finished];
  Flight& flight = lane.flight(lane.finished);
  int done = 0;
  const bool receives = operation.request.kind == CollectiveKind::recv;
  if (receives && operation.state == OperationState::submitted) {
    MPI_Test(flight.requests.data(), &done, MPI_STATUS_IGNORE);
    if (done == 0 || !check_headers(operation, flight)) return false;
    operation.state = OperationState::arrived;
  }
  MPI_Testall(static_cast<int>(flight.requests.size()), flight.requests.data(), &done,
              MPI_STATUSES_IGNORE);
  if (done == 0) return false;
  finish(operation);
  ++lane.finished;
  return true;
}

bool MpiExchange::progress() {
  bool moved = false;
  for (bool step = true; step && !failure_;) {
    step = progress_collective();
    for (auto& lane : pairs_) {
      if (lane != nullptr && !failure_) step = progress_pair(*lane) || step;
    }
    moved = moved || step;
  }
  return moved;
}

Result<Operation*> MpiExchange::find(Ticket ticket) {
  OperationQueue* queue = &collectives_.queue;
  if (ticket.channel >= 0) {
    const auto channel = static_cast<std::size_t>(ticket.channel);
    queue = channel < pairs_.size() && pairs_[channel] ? &pairs_[channel]->queue : nullptr;
  }
  if (queue == nullptr || ticket.sequence >= queue->submitted() ||
      ticket.sequence < queue->oldest()) {
    return Error{.what = name_ + ": ticket #" + std::to_string(ticket.sequence) +
                         " was not given out, or finished too long ago",
                 .hint = "pass what submit() returned, before many others are submitted"};
  }
  return &(*queue)[ticket.sequence];
}

void MpiExchange::give_up(Ns waited) {
  const Lane* stuck = &collectives_;
  for (const auto& lane : pairs_) {
    if (lane == nullptr || lane->finished == lane->queue.submitted()) continue;
    if (stuck->finished == stuck->queue.submitted()) stuck = lane.get();
  }
  const Operation& operation = stuck->queue[stuck->finished];
  failure_ = Error{
      .what =
          name_ + ": rank " + std::to_string(rank_) + " in " + header_text(operation.header) +
          ": nothing moved for " +
          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(waited).count()) +
          " ms: " +
          (operation.state == OperationState::submitted ? "a rank has not come"
                                                        : "a rank does not go on"),
      .hint =
          "raise the deadline if this was no hang; the flight records of the other ranks say "
          "where they are (Communicator::flight_record)",
      .code = ErrorCode::group_failed};
}

Result<bool> MpiExchange::test(Ticket ticket) {
  if (failure_) return *failure_;
  const auto found = find(ticket);
  if (!found) return found.error();
  Operation& operation = **found;
  const bool moved = operation.state != OperationState::done && progress();
  if (operation.state == OperationState::done) return true;
  const Ns now = monotonic_now();
  if (moved || !operation.polled_since) operation.polled_since = now;
  if (!failure_ && now - *operation.polled_since > deadline_) {
    give_up(now - *operation.polled_since);
  }
  if (failure_) return *failure_;
  return false;
}

// MPI cannot sleep: it polls all the time for a while, then now and then.
Result<CollectiveInstants> MpiExchange::wait(Ticket ticket) {
  if (failure_) return *failure_;
  const auto found = find(ticket);
  if (!found) return found.error();
  const Operation& operation = **found;
  Ns since = monotonic_now();
  while (operation.state != OperationState::done && !failure_) {
    const bool moved = progress();
    const Ns now = monotonic_now();
    if (moved) {
      since = now;
    } else if (now - since > deadline_) {
      give_up(now - since);
    } else if (now - since > std::chrono::microseconds(50)) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  if (operation.state != OperationState::done) return *failure_;
  return operation.times;
}

Result<std::unique_ptr<Communicator>> MpiExchange::subgroup(std::span<const int> ranks,
                                                            std::string_view name) {
  if (failure_) return *failure_;
  if (auto fault = ranks_fault(ranks, ranks_)) return *fault;
  const auto place = std::ranges::find(ranks, rank_);
  const bool named = place != ranks.end();
  MPI_Comm split = MPI_COMM_NULL;
  MPI_Comm_split(data_, named ? 0 : MPI_UNDEFINED, static_cast<int>(place - ranks.begin()), &split);
  if (!named) return std::unique_ptr<Communicator>();
  return connect(split, std::string(name), options_, deadline_);
}

std::string MpiExchange::flight_record() const {
  std::string out = "{\"group\": " + json_text(name_);
  out += ", \"rank\": " + std::to_string(rank_);
  out += ", \"ranks\": " + std::to_string(ranks_);
  out += ", \"taken_at_ns\": " + std::to_string(monotonic_now().count());
  out += ", \"failure\": " + (failure_ ? json_text(failure_->message()) : std::string("null"));
  out += ",\n \"collectives\": " + json_operations(collectives_.queue);
  for (std::size_t c = 0; c < pairs_.size(); ++c) {
    if (pairs_[c] == nullptr) continue;
    out += c % 2 == 0 ? ",\n \"sends_to_" : ",\n \"receives_from_";
    out += std::to_string(c / 2) + "\": " + json_operations(pairs_[c]->queue);
  }
  return out + "}";
}

namespace {

// The process and descriptor that hold rank 0's window open; the same at all ranks.
struct Held {
  std::int64_t process = -1;  // -1: rank 0 could not make it
  std::int64_t descriptor = -1;
  std::array<char, 256> why{};
};

// Whether the condition holds at every rank.
bool everywhere(MPI_Comm group, bool here) {
  int all = here ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, group);
  return all == 1;
}

bool on_one_host(MPI_Comm group) {
  int all = 0;
  MPI_Comm_size(group, &all);
  return everywhere(group, ranks_on_this_host(group).count == all);
}

Result<std::unique_ptr<Communicator>> share_memory(MPI_Comm group, const std::string& name,
                                                   const MpiOptions& options, Ns deadline) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(group, &rank);
  MPI_Comm_size(group, &ranks);
  Held held;
  int segment = -1;
  if (rank == 0) {
    const auto made = make_segment(window_shape(ranks, options.bucket));
    if (made) {
      segment = *made;
      held = {::getpid(), segment, {}};
    } else {
      const std::string why = made.error().message();
      std::copy_n(why.begin(), std::min(why.size(), held.why.size()), held.why.begin());
    }
  }
  MPI_Bcast(&held, sizeof held, MPI_BYTE, 0, group);
  if (held.process < 0)
    return Error{.what = std::string(text_of({held.why.data(), held.why.size()}))};
  auto window = rank == 0 ? Window::map(segment) : open_window(held.process, held.descriptor);
  const bool all = everywhere(group, window.has_value());
  if (segment >= 0) ::close(segment);
  if (!window) return window.error();
  if (!all) return Error{.what = "another rank of this host cannot open the shared memory"};
  return join_window(std::move(*window), rank, name, deadline);
}

}  // namespace

Result<std::unique_ptr<Communicator>> connect(MPI_Comm group, std::string name,
                                              const MpiOptions& options, Ns deadline) {
  if (options.shared_memory && on_one_host(group)) {
    auto shared = share_memory(group, name, options, deadline);
    MPI_Comm_free(&group);
    return shared;
  }
  MPI_Comm headers = MPI_COMM_NULL;
  MPI_Comm_dup(group, &headers);
  return std::unique_ptr<Communicator>(
      std::make_unique<MpiExchange>(headers, group, std::move(name), options, deadline));
}

}  // namespace stepscope::comm

#endif
