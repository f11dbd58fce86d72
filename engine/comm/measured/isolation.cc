// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/measured/isolation.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace stepscope {
namespace {

constexpr std::size_t small_message = 4096;

// One allocation for both buffers. If one lay within the other, it does so in the copy too.
std::unique_ptr<std::byte[]> give_memory(CollectiveRequest& request) {
  const std::size_t in = request.in.size();
  const std::size_t out = request.out.size();
  auto memory = std::make_unique<std::byte[]>(in + out);
  const std::byte* const in_at = request.in.data();
  const std::byte* const out_at = request.out.data();
  const std::less_equal<const std::byte*> below;
  std::size_t in_offset = 0;
  std::size_t out_offset = in;
  if (in > 0 && out > 0 && below(in_at, out_at) && below(out_at + out, in_at + in)) {
    out_offset = static_cast<std::size_t>(out_at - in_at);
  } else if (in > 0 && out > 0 && below(out_at, in_at) && below(in_at + in, out_at + out)) {
    in_offset = static_cast<std::size_t>(in_at - out_at);
    out_offset = 0;
  }
  if (in > 0) std::memcpy(memory.get() + in_offset, in_at, in);
  request.in = {memory.get() + in_offset, in};
  request.out = {memory.get() + out_offset, out};
  return memory;
}

}  // namespace

void Isolation::record() {
  script_ = {};
  first_ = next_;
  recording_ = true;
}

CollectiveScript Isolation::taken() {
  recording_ = false;
  return std::exchange(script_, {});
}

Result<Ticket> Isolation::submit(const CollectiveRequest& request) {
  if (left_out_) return Ticket{next_ + left_out_count_++, -1};
  auto ticket = inner().submit(request);
  if (!ticket || ticket->channel >= 0) return ticket;
  next_ = ticket->sequence + 1;
  if (recording_) {
    script_.events_.push_back({.wait = false, .index = std::ssize(script_.requests_)});
    CollectiveRequest& kept = script_.requests_.emplace_back(request);
    if (std::max(kept.in.size(), kept.out.size()) <= small_message)
      script_.memory_.push_back(give_memory(kept));
  }
  return ticket;
}

Result<bool> Isolation::test(Ticket ticket) {
  if (left_out_) return true;
  return inner().test(ticket);
}

Result<CollectiveInstants> Isolation::wait(Ticket ticket) {
  if (left_out_) {
    const Ns now = monotonic_now();
    return CollectiveInstants{.submitted = now, .last_arrival = now, .finished = now};
  }
  if (recording_ && ticket.channel < 0) {
    script_.events_.push_back(
        {.wait = true,
         .index = static_cast<std::int64_t>(ticket.sequence) - static_cast<std::int64_t>(first_)});
  }
  return inner().wait(ticket);
}

Result<Done> Isolation::finish(Replayed& replayed) {
  if (replayed.waited) return Done{};
  replayed.waited = true;
  auto done = inner().wait(replayed.ticket);
  if (!done) return done.error();
  return Done{};
}

Result<Done> Isolation::replay(const CollectiveScript& script) {
  before_.swap(now_);
  now_.clear();
  for (const CollectiveScript::Event& event : script.events_) {
    if (!event.wait) {
      auto ticket = inner().submit(script.requests_[static_cast<std::size_t>(event.index)]);
      if (!ticket) return ticket.error();
      next_ = ticket->sequence + 1;
      now_.push_back({.ticket = *ticket});
      continue;
    }
    auto& step = event.index < 0 ? before_ : now_;
    const std::int64_t at = event.index < 0 ? std::ssize(step) + event.index : event.index;
    if (at < 0) continue;  // no replay left this one unfinished
    if (auto done = finish(step[static_cast<std::size_t>(at)]); !done) return done;
  }
  return Done{};
}

Result<Done> Isolation::finish_replay() {
  for (auto* step : {&before_, &now_}) {
    for (Replayed& replayed : *step)
      if (auto done = finish(replayed); !done) return done;
    step->clear();
  }
  return Done{};
}

}  // namespace stepscope
