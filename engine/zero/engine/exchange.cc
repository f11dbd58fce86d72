// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/zero/engine/exact_norm.h"

namespace stepscope::zero {
namespace {

std::size_t at(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

// The elements of a shard of `size` in [first, first + count).
std::int64_t real_elements(std::int64_t size, std::int64_t first, std::int64_t count) {
  return std::clamp<std::int64_t>(size - first, 0, count);
}

void add_into(ElementType type, const std::byte* from, std::byte* to, std::int64_t count) {
  if (type == ElementType::f32) {
    const auto* x = reinterpret_cast<const float*>(from);
    auto* y = reinterpret_cast<float*>(to);
    for (std::int64_t i = 0; i < count; ++i) y[i] += x[i];
    return;
  }
  const auto* x = reinterpret_cast<const Bf16*>(from);
  auto* y = reinterpret_cast<Bf16*>(to);
  for (std::int64_t i = 0; i < count; ++i) y[i] = to_bf16(to_float(y[i]) + to_float(x[i]));
}

std::int32_t exponent_of(ElementType type, const std::byte* values, std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  return type == ElementType::f32
             ? largest_exponent(std::span(reinterpret_cast<const float*>(values), n))
             : largest_exponent(std::span(reinterpret_cast<const Bf16*>(values), n));
}

}  // namespace

Exchange::Exchange(const Plan& plan, const RankArenas& memory, Communicator& comm,
                   RankRecorder& recorder, Offload* offload)
    : plan_(plan),
      memory_(memory),
      comm_(comm),
      recorder_(recorder),
      offload_(offload),
      size_(static_cast<std::int64_t>(element_bytes(plan.request.type))),
      ranks_(plan.request.world_size),
      messages_(static_cast<std::size_t>(plan.request.buckets) + 2 * plan.units.size()),
      filled_(static_cast<std::size_t>(plan.request.buckets)),
      reducing_(plan.units.size()),
      gathering_(plan.units.size()),
      fetched_(plan.units.size()),
      exponents_(plan.units.size()) {
  for (const nn::Unit& unit : plan.units) {
    gradient_names_.push_back(unit.name + " gradients");
    parameter_names_.push_back(unit.name + " parameters");
  }
}

Bytes Exchange::most_buckets() const {
  return {std::accumulate(filled_.begin(), filled_.end(), std::int64_t{0})};
}

std::span<std::byte> Exchange::bucket(std::int64_t index, std::int64_t elements) const {
  return memory_[ArenaClass::buckets].part<std::byte>(index * plan_.bucket_place,
                                                      elements * ranks_ * size_);
}

std::span<std::byte> Exchange::gathered(std::size_t unit, bool padded) const {
  const ShardLayout& layout = plan_.places[unit].layout;
  const std::int64_t elements = padded ? layout.padded_elements() : layout.elements;
  return memory_[ArenaClass::gathered_units].part<std::byte>(fetched_[unit].place,
                                                             elements * size_);
}

std::int64_t Exchange::padding_of(const Message& message) const {
  const ShardLayout& layout = plan_.places[message.unit].layout;
  const std::int64_t longer = layout.elements % ranks_;
  const std::int64_t shorter = layout.elements / ranks_;
  const std::int64_t real =
      longer * real_elements(shorter + 1, message.first, message.count) +
      (ranks_ - longer) * real_elements(shorter, message.first, message.count);
  return ranks_ * message.count - real;
}

// ---- submitting -----------------------------------------------------------------------------

Result<Done> Exchange::submit(Message message, const CollectiveRequest& request,
                              std::int64_t padding) {
  if (failed_) return *failed_;
  check(next_ - oldest_ < messages_.size(), "fewer messages are under way than the plan allows");
  const Ns begin = recorder_.now();
  auto ticket = comm_.submit(request);
  if (!ticket) return ticket.error();
  recorder_.collective_submitted_at(begin, 0, ticket->sequence);
  message.ticket = *ticket;
  message.in_elements = static_cast<std::int64_t>(request.in.size()) / size_;
  message.out_elements = static_cast<std::int64_t>(request.out.size()) / size_;
  const std::int64_t elements = std::max(message.in_elements, message.out_elements);
  message.record = {.kind = request.kind,
                    .purpose = message.kind == MessageKind::reduce ? CollectivePurpose::gradients
                                                                   : CollectivePurpose::parameters,
                    .sequence = ticket->sequence,
                    .bytes = {elements * size_},
                    .padding = {padding * size_}};
  if (message.bucket >= 0) {
    ++in_buckets_;
    std::int64_t& filled = filled_[static_cast<std::size_t>(message.bucket)];
    if (plan_.request.stage > 0) filled = std::max(filled, message.count * ranks_ * size_);
  }
  messages_[next_ % messages_.size()] = message;
  ++next_;
  if (overlaps_) return Done{};
  return finish_all();
}

Result<std::int64_t> Exchange::take_bucket(Activity waiting) {
  while (in_buckets_ >= plan_.request.buckets) {
    if (auto done = finish_oldest(waiting); !done) return done.error();
  }
  const std::int64_t index = next_bucket_;
  next_bucket_ = (next_bucket_ + 1) % plan_.request.buckets;
  return index;
}

// Block k of the bucket: elements [first, first + count) of shard k, then zeros.
void Exchange::pack(std::span<const std::byte> whole, const Message& message) {
  const ShardLayout& layout = plan_.places[message.unit].layout;
  const auto blocks = bucket(message.bucket, message.count);
  for (std::int64_t rank = 0; rank < ranks_; ++rank) {
    const OptimizerShard shard = layout.shard(rank);
    const std::int64_t real = real_elements(shard.shard_size(), message.first, message.count);
    std::byte* const block = blocks.data() + rank * message.count * size_;
    if (real > 0) {
      std::memcpy(block, whole.data() + (shard.param_start + message.first) * size_,
                  at(real * size_));
    }
    std::memset(block + real * size_, 0, at((message.count - real) * size_));
  }
}

Result<Done> Exchange::reduce(std::size_t unit, std::span<std::byte> local, bool add, bool last) {
  exponents_[unit] = 0;
  if (plan_.request.stage == 0) return reduce_in_place(unit, local, add, last);
  const ShardLayout& layout = plan_.places[unit].layout;
  for (std::int64_t first = 0; first < layout.stride; first += plan_.bucket_elements) {
    auto index = take_bucket(Activity::wait_reduce);
    if (!index) return index.error();
    Message message{.kind = MessageKind::reduce,
                    .unit = unit,
                    .first = first,
                    .count = std::min(plan_.bucket_elements, layout.stride - first),
                    .bucket = *index,
                    .add = add,
                    .last = last};
    auto slot = take_slot(message);
    if (!slot) return slot.error();
    message.slot = *slot;
    pack(local, message);
    const auto blocks = bucket(*index, message.count);
    const std::size_t block = at(message.count * size_);
    ++reducing_[unit];
    auto done =
        submit(message,
               {.kind = CollectiveKind::reduce_scatter,
                .type = plan_.request.type,
                .in = blocks,
                .out = blocks.subspan(static_cast<std::size_t>(comm_.rank()) * block, block),
                .what = gradient_names_[unit]},
               padding_of(message));
    if (!done) return done;
  }
  return Done{};
}

std::int64_t Exchange::own_elements(const Message& message) const {
  return real_elements(plan_.places[message.unit].shard.shard_size(), message.first, message.count);
}

// The slot of gradients in a file. -1: the message has no gradients, or they are in memory.
Result<std::int64_t> Exchange::take_slot(const Message& message) {
  const std::int64_t own = own_elements(message);
  if (offload_ == nullptr || !offload_->gradients || own == 0) return -1;
  const ActivityScope io(recorder_, Activity::wait_io);
  const auto slot = offload_->gradients->take(message.unit, message.first, own, message.add);
  if (!slot) return slot.error();
  return static_cast<std::int64_t>(*slot);
}

Result<Done> Exchange::reduce_in_place(std::size_t unit, std::span<std::byte> local, bool add,
                                       bool last) {
  const std::int64_t elements = plan_.places[unit].layout.elements;
  const std::int64_t piece = plan_.bucket_elements * ranks_;
  for (std::int64_t first = 0; first < elements; first += piece) {
    auto index = take_bucket(Activity::wait_reduce);
    if (!index) return index.error();
    const Message message{.kind = MessageKind::reduce,
                          .unit = unit,
                          .first = first,
                          .count = std::min(piece, elements - first),
                          .bucket = *index,
                          .add = add,
                          .last = last};
    const auto part = local.subspan(at(first * size_), at(message.count * size_));
    ++reducing_[unit];
    auto done = submit(message,
                       {.kind = CollectiveKind::all_reduce,
                        .type = plan_.request.type,
                        .in = part,
                        .out = part,
                        .what = gradient_names_[unit]},
                       0);
    if (!done) return done;
  }
  return Done{};
}

Result<Done> Exchange::expect_fetches(std::span<const std::size_t> units) {
  if (offload_ == nullptr || !offload_->parameters) return Done{};
  const ActivityScope io(recorder_, Activity::wait_io);
  return offload_->parameters->begin(units);
}

// This rank's block of the unit, in memory that an all-gather can read.
Result<std::span<const std::byte>> Exchange::take_block(std::size_t unit) {
  if (offload_ == nullptr || !offload_->parameters)
    return std::span<const std::byte>(memory_.units[unit].block);
  while (offload_->parameters->full()) {
    if (auto done = finish_oldest(Activity::wait_fetch); !done) return done.error();
  }
  const ActivityScope io(recorder_, Activity::wait_io);
  return offload_->parameters->take(unit);
}

Result<Done> Exchange::fetch(std::size_t unit, std::int64_t place, bool in_time) {
  const auto block = take_block(unit);
  if (!block) return block.error();
  fetched_[unit] = {.place = place, .in_time = in_time};
  const ShardLayout& layout = plan_.places[unit].layout;
  gathered_now_ += Bytes{layout.elements * size_};
  most_gathered_ = std::max(most_gathered_, gathered_now_);
  return submit({.kind = MessageKind::fetch, .unit = unit, .count = layout.stride},
                {.kind = CollectiveKind::all_gather,
                 .type = plan_.request.type,
                 .in = *block,
                 .out = gathered(unit, true),
                 .what = parameter_names_[unit]},
                layout.padding());
}

Result<Done> Exchange::gather(std::size_t unit) {
  const ShardLayout& layout = plan_.places[unit].layout;
  const auto whole = memory_.units[unit].whole;
  if (layout.contiguous()) {
    ++gathering_[unit];
    return submit({.kind = MessageKind::gather, .unit = unit, .count = layout.stride},
                  {.kind = CollectiveKind::all_gather,
                   .type = plan_.request.type,
                   .in = memory_.units[unit].held,
                   .out = whole,
                   .what = parameter_names_[unit]},
                  0);
  }
  for (std::int64_t first = 0; first < layout.stride; first += plan_.bucket_elements) {
    auto index = take_bucket(Activity::wait_gather);
    if (!index) return index.error();
    const Message message{.kind = MessageKind::gather,
                          .unit = unit,
                          .first = first,
                          .count = std::min(plan_.bucket_elements, layout.stride - first),
                          .bucket = *index};
    const auto blocks = bucket(*index, message.count);
    const std::size_t block = at(message.count * size_);
    const auto own = blocks.subspan(static_cast<std::size_t>(comm_.rank()) * block, block);
    const OptimizerShard shard = plan_.places[unit].shard;
    const std::size_t real = at(real_elements(shard.shard_size(), first, message.count) * size_);
    if (real > 0) {
      std::memcpy(own.data(), whole.data() + (shard.param_start + first) * size_, real);
    }
    std::memset(own.data() + real, 0, block - real);
    ++gathering_[unit];
    auto done = submit(message,
                       {.kind = CollectiveKind::all_gather,
                        .type = plan_.request.type,
                        .in = own,
                        .out = blocks,
                        .what = parameter_names_[unit]},
                       padding_of(message));
    if (!done) return done;
  }
  return Done{};
}

// ---- finishing ------------------------------------------------------------------------------

Result<Done> Exchange::finish_oldest(Activity waiting) {
  if (failed_) return *failed_;
  check(!idle(), "what is waited for is under way");
  const Ns begin = recorder_.now();
  const Activity before = recorder_.enter_at(waiting, begin);
  auto times = comm_.wait(oldest().ticket);
  const Ns end = recorder_.now();
  recorder_.enter_at(before, end);
  if (!times) return times.error();
  return finish(*times, end - begin);
}

Result<Done> Exchange::finish(const CollectiveInstants& times, Ns stall) {
  const Message message = oldest();
  ++oldest_;
  if (message.bucket >= 0) --in_buckets_;
  CollectiveRecord record = message.record;
  record.submitted = times.submitted;
  record.last_arrival = times.last_arrival;
  record.finished = times.finished;
  record.stall = stall;
  recorder_.collective(record);
  if (observer_ != nullptr) {
    const auto& names = message.kind == MessageKind::reduce ? gradient_names_ : parameter_names_;
    observer_->collective(record, names[message.unit], message.in_elements, message.out_elements,
                          plan_.request.type);
  }
  switch (message.kind) {
    case MessageKind::reduce:
      --reducing_[message.unit];
      if (plan_.request.stage != 0) return absorb(message);
      absorb_in_place(message);
      break;
    case MessageKind::fetch:
      settle(message);
      fetched_[message.unit].arrived = true;
      fetched_[message.unit].service = times.finished - times.submitted;
      if (offload_ != nullptr && offload_->parameters) {
        const ActivityScope io(recorder_, Activity::wait_io);
        return offload_->parameters->give_back();
      }
      break;
    case MessageKind::gather:
      --gathering_[message.unit];
      if (message.bucket >= 0) unpack(message);
      break;
  }
  return Done{};
}

// NOLINTNEXTLINE(bugprone-exception-escape): an error's text without memory ends the program
void Exchange::poll() noexcept {
  while (!idle() && !failed_) {
    auto done = comm_.test(oldest().ticket);
    if (!done) {
      failed_ = done.error();
      return;
    }
    if (!*done) return;
    auto times = comm_.wait(oldest().ticket);
    if (!times) {
      failed_ = times.error();
      return;
    }
    if (auto finished = finish(*times, Ns{}); !finished) failed_ = finished.error();
  }
}

// Adds this rank's reduced block to its reduced gradient.
Result<Done> Exchange::absorb(const Message& message) {
  const std::int64_t real = own_elements(message);
  if (real == 0) return Done{};
  const std::byte* const from =
      bucket(message.bucket, message.count).data() + comm_.rank() * message.count * size_;
  std::byte* to = nullptr;
  const auto slot = static_cast<std::size_t>(message.slot);
  if (message.slot >= 0) {
    const ActivityScope io(recorder_, Activity::wait_io);
    const auto memory = offload_->gradients->arrived(slot);
    if (!memory) return memory.error();
    to = memory->data();
  } else {
    to = memory_.units[message.unit].reduced.data() + message.first * size_;
  }
  if (message.add) {
    add_into(plan_.request.type, from, to, real);
  } else {
    std::memcpy(to, from, at(real * size_));
  }
  if (message.last) {
    std::int32_t& largest = exponents_[message.unit];
    largest = std::max(largest, exponent_of(plan_.request.type, to, real));
  }
  if (message.slot < 0) return Done{};
  const ActivityScope io(recorder_, Activity::wait_io);
  return offload_->gradients->store(slot);
}

// Stage 0: the sum replaces the gradient. The exponent is that of this rank's shard, as at the
// other stages.
void Exchange::absorb_in_place(const Message& message) {
  const UnitPlace& place = plan_.places[message.unit];
  const UnitMemory& unit = memory_.units[message.unit];
  std::byte* const to = unit.reduced.data();
  const std::byte* const from = unit.local.data();
  if (to != from) {
    const std::int64_t offset = message.first * size_;
    if (message.add) {
      add_into(plan_.request.type, from + offset, to + offset, message.count);
    } else {
      std::memcpy(to + offset, from + offset, at(message.count * size_));
    }
  }
  const std::int64_t begin = std::max(message.first, place.shard.param_start);
  const std::int64_t end = std::min(message.first + message.count, place.shard.param_end);
  if (message.last && begin < end) {
    std::int32_t& largest = exponents_[message.unit];
    largest = std::max(largest, exponent_of(plan_.request.type, to + begin * size_, end - begin));
  }
}

// Joins blocks into one flat vector in place: each block moves down over the padding before it.
void Exchange::settle(const Message& message) {
  const ShardLayout& layout = plan_.places[message.unit].layout;
  if (layout.contiguous()) return;
  std::byte* const data = gathered(message.unit, true).data();
  for (std::int64_t rank = 1; rank < ranks_; ++rank) {
    const OptimizerShard shard = layout.shard(rank);
    std::memmove(data + shard.param_start * size_, data + rank * layout.stride * size_,
                 at(shard.shard_size() * size_));
  }
}

void Exchange::unpack(const Message& message) {
  const ShardLayout& layout = plan_.places[message.unit].layout;
  const auto blocks = bucket(message.bucket, message.count);
  std::byte* const whole = memory_.units[message.unit].whole.data();
  for (std::int64_t rank = 0; rank < ranks_; ++rank) {
    const OptimizerShard shard = layout.shard(rank);
    const std::int64_t real = real_elements(shard.shard_size(), message.first, message.count);
    if (rank == comm_.rank() || real == 0) continue;
    std::memcpy(whole + (shard.param_start + message.first) * size_,
                blocks.data() + rank * message.count * size_, at(real * size_));
  }
}

// ---- waiting --------------------------------------------------------------------------------

Result<Done> Exchange::await_reduced(std::size_t unit) {
  while (reducing_[unit] > 0) {
    if (auto done = finish_oldest(Activity::wait_reduce); !done) return done;
  }
  return Done{};
}

Result<Done> Exchange::finish_all() {
  while (!idle()) {
    const MessageKind kind = oldest().kind;
    const Activity waiting = kind == MessageKind::reduce  ? Activity::wait_reduce
                             : kind == MessageKind::fetch ? Activity::wait_fetch
                                                          : Activity::wait_gather;
    if (auto done = finish_oldest(waiting); !done) return done;
  }
  return Done{};
}

Result<Done> Exchange::await_all() {
  if (auto done = finish_all(); !done) return done;
  if (failed_) return *failed_;
  return Done{};
}

Result<Done> Exchange::await_gathered(std::size_t unit) {
  while (gathering_[unit] > 0) {
    if (auto done = finish_oldest(Activity::wait_gather); !done) return done;
  }
  return Done{};
}

Result<std::span<const std::byte>> Exchange::await_fetched(std::size_t unit) {
  Fetched& fetched = fetched_[unit];
  check(fetched.place >= 0, "a unit is used between its fetch and its release");
  if (!fetched.used) {
    fetched.used = true;
    // No poll first: bytes that this thread moves now were not there when they were needed.
    const bool hit = fetched.arrived;
    const Ns begin = recorder_.now();
    while (!fetched.arrived) {
      if (auto done = finish_oldest(Activity::wait_fetch); !done) return done.error();
    }
    const Ns stall = hit ? Ns{} : recorder_.now() - begin;
    const auto outcome = hit               ? PrefetchOutcome::hit
                         : fetched.in_time ? PrefetchOutcome::late
                                           : PrefetchOutcome::miss;
    recorder_.prefetch(outcome, {plan_.places[unit].layout.elements * size_}, stall,
                       fetched.service);
  }
  return std::span<const std::byte>(gathered(unit, false));
}

void Exchange::release(std::size_t unit) {
  gathered_now_ -= Bytes{plan_.places[unit].layout.elements * size_};
  fetched_[unit] = {};
}

// ---- small sums ----------------------------------------------------------------------------

Result<Done> Exchange::wait_small(const Result<Ticket>& ticket, CollectiveRecord record,
                                  std::string_view what, std::int64_t in_elements,
                                  std::int64_t out_elements, ElementType type) {
  if (!ticket) return ticket.error();
  recorder_.collective_submitted(0, ticket->sequence);
  const Ns begin = recorder_.now();
  const Activity before = recorder_.enter_at(Activity::wait_gather, begin);
  auto times = comm_.wait(*ticket);
  const Ns end = recorder_.now();
  recorder_.enter_at(before, end);
  if (!times) return times.error();
  record.sequence = ticket->sequence;
  record.submitted = times->submitted;
  record.last_arrival = times->last_arrival;
  record.finished = times->finished;
  record.stall = end - begin;
  recorder_.collective(record);
  if (observer_ != nullptr) observer_->collective(record, what, in_elements, out_elements, type);
  return Done{};
}

Result<Done> Exchange::all_gather_now(std::span<const std::byte> own, std::span<std::byte> all,
                                      std::string_view what) {
  if (failed_) return *failed_;
  return wait_small(
      all_gather(comm_, own, all, what),
      {.kind = CollectiveKind::all_gather, .bytes = {static_cast<std::int64_t>(all.size())}}, what,
      static_cast<std::int64_t>(own.size()), static_cast<std::int64_t>(all.size()),
      ElementType::u8);
}

Result<Done> Exchange::all_reduce_now(std::span<double> values, std::string_view what) {
  if (failed_) return *failed_;
  const auto elements = static_cast<std::int64_t>(values.size());
  return wait_small(all_reduce(comm_, values, what),
                    {.kind = CollectiveKind::all_reduce,
                     .bytes = {static_cast<std::int64_t>(values.size_bytes())}},
                    what, elements, elements, ElementType::f64);
}

Result<Done> Exchange::all_reduce_now(std::span<std::int64_t> values, Reduction reduction,
                                      std::string_view what) {
  if (failed_) return *failed_;
  const auto elements = static_cast<std::int64_t>(values.size());
  return wait_small(all_reduce(comm_, values, what, reduction),
                    {.kind = CollectiveKind::all_reduce,
                     .bytes = {static_cast<std::int64_t>(values.size_bytes())}},
                    what, elements, elements, ElementType::i64);
}

}  // namespace stepscope::zero
