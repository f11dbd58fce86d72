// SPDX-License-Identifier: Apache-2.0
// Detects that a window group cannot go on, and reports why.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/comm/window/window_group.h"

namespace stepscope::comm {
namespace {

constexpr std::string_view see_record =
    "the flight record says what this rank did last (Communicator::flight_record)";

std::string seconds_text(Ns t) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f s", seconds(t).count());
  return text.data();
}

std::string_view state_text(RankState state) {
  constexpr std::array<std::string_view, 5> names = {"absent", "joined", "left", "failed", "dead"};
  return names[static_cast<std::size_t>(state)];
}

}  // namespace

// Whether the oldest unfinished collective waits for this rank's data or for a bucket that this
// rank holds.
bool WindowGroup::blocks(int peer) const {
  if (peer == setup_.rank || taking_ == queue_.submitted()) return false;
  const RankControl& control = window_.control(peer);
  const bool no_data = taken_ < staged_ && control.staged.load() <= taken_;
  const bool no_bucket =
      staging_ < queue_.submitted() && control.taken.load() + window_.shape().slots <= staged_;
  return no_data || no_bucket;
}

std::string WindowGroup::waiting_text(const Operation& operation) const {
  return setup_.name + ": rank " + std::to_string(setup_.rank) + " in " +
         header_text(operation.header);
}

std::string WindowGroup::last_text(int peer) const {
  const auto last = window_.control(peer).position.load();
  return last ? "its last was " + header_text(*last) : "it has called nothing yet";
}

// Whether the peer gave up before it brought the data that the operation waits for.
bool WindowGroup::peer_gave_up(int peer) {
  const RankControl& control = window_.control(peer);
  if (control.state.load() != RankState::failed || progress()) return false;
  const std::string theirs(text_of({control.failure.data(), control.failure.size()}));
  std::string own = setup_.name + ": rank " + std::to_string(setup_.rank);
  if (taking_ < queue_.submitted()) own = waiting_text(queue_[taking_]);
  own += ": rank " + std::to_string(peer) + " gave up: " + theirs;
  failure_ = Error{.what = own, .hint = std::string(see_record), .code = ErrorCode::group_failed};
  fail(theirs, {});
  return true;
}

// Whether the peer that the operation waits for is gone.
bool WindowGroup::peer_ended(const Operation& operation, int peer) {
  const RankState state = window_.control(peer).state.load();
  const PeerProcess& process = peers_[static_cast<std::size_t>(peer)];
  const bool dead = state == RankState::dead || (state != RankState::left && process.dead());
  if (!dead && state != RankState::left) return false;
  if (progress()) return false;  // data staged before its end still counts
  std::string text = waiting_text(operation) + ": rank " + std::to_string(peer);
  text += dead ? " died" : " left the group";
  if (process.pid() != 0) text += " (process " + std::to_string(process.pid()) + ")";
  fail(text + "; " + last_text(peer), std::string(see_record));
  return true;
}

// Without progress: checks now and then whether progress is still possible, and gives up at the
// deadline.
void WindowGroup::look_for_faults(Ns now, Ns waited) {
  if (now - looked_at_ < look_interval) return;
  looked_at_ = now;
  for (int p = 0; p < ranks_; ++p) {
    if (p != setup_.rank && peer_gave_up(p)) return;
  }
  for (int p = 0; p < ranks_; ++p) {
    if (blocks(p) && peer_ended(queue_[taking_], p)) return;
  }
  for (std::size_t c = 0; c < pairs_.size(); ++c) {
    if (pairs_[c] == nullptr || pairs_[c]->finished == pairs_[c]->queue.submitted()) continue;
    const int peer = static_cast<int>(c / 2);
    if (peer != setup_.rank && peer_ended(pairs_[c]->queue[pairs_[c]->finished], peer)) return;
  }
  if (waited >= setup_.deadline) give_up(waited);
}

std::string WindowGroup::late_text(int peer) const {
  const PeerProcess& process = peers_[static_cast<std::size_t>(peer)];
  std::string text = "rank " + std::to_string(peer);
  if (process.stopped()) {
    text += " (process " + std::to_string(process.pid()) + ") is stopped by a signal; ";
  } else {
    text += " has not come; ";
  }
  return text + last_text(peer);
}

void WindowGroup::give_up(Ns waited) {
  const Operation* operation = nullptr;
  std::string who;
  for (int p = 0; p < ranks_; ++p) {
    if (!blocks(p)) continue;
    operation = &queue_[taking_];
    who += (who.empty() ? "" : "; ") + late_text(p);
  }
  for (std::size_t c = 0; c < pairs_.size() && operation == nullptr; ++c) {
    if (pairs_[c] == nullptr || pairs_[c]->finished == pairs_[c]->queue.submitted()) continue;
    operation = &pairs_[c]->queue[pairs_[c]->finished];
    who = late_text(static_cast<int>(c / 2));
  }
  if (operation == nullptr) return;  // the data has just come
  fail(waiting_text(*operation) + ": nothing moved for " + seconds_text(waited) + ": " + who,
       "raise the deadline if this was no hang; " + std::string(see_record));
}

void WindowGroup::report_mismatch(const Operation& operation, int peer,
                                  const BucketHeader& theirs) {
  fail(waiting_text(operation) + ": rank " + std::to_string(peer) + " called " +
           header_text(theirs) + " instead",
       "all ranks of a group must call the same collectives in the same order");
}

// Marks the group as failed and informs the other ranks. They may read the text from then on, so
// the first failure stays.
void WindowGroup::fail(const std::string& text, const std::string& hint) {
  if (!failure_) failure_ = Error{.what = text, .hint = hint, .code = ErrorCode::group_failed};
  RankControl& control = window_.control(setup_.rank);
  if (control.state.load() != RankState::failed) {
    const std::size_t length = std::min(text.size(), control.failure.size());
    std::memcpy(control.failure.data(), text.data(), length);
    control.state.store(RankState::failed);
  }
  wake_all();
}

std::string WindowGroup::flight_record() const {
  std::string out = "{\"group\": " + json_text(setup_.name);
  out += ", \"rank\": " + std::to_string(setup_.rank);
  out += ", \"ranks\": " + std::to_string(ranks_);
  out += ", \"taken_at_ns\": " + std::to_string(monotonic_now().count());
  out += ", \"failure\": " + (failure_ ? json_text(failure_->message()) : std::string("null"));
  out += ",\n \"peers\": [";
  for (int p = 0; p < ranks_; ++p) {
    const RankControl& control = window_.control(p);
    const auto last = control.position.load();
    if (p > 0) out += ", ";
    out += "{\"rank\": " + std::to_string(p);
    out += ", \"state\": " + json_text(state_text(control.state.load()));
    out += ", \"last\": ";
    if (last) {
      out += '{';
      out += json_header(*last);
      out += '}';
    } else {
      out += "null";
    }
    out += '}';
  }
  out += "],\n \"collectives\": " + json_operations(queue_);
  for (std::size_t c = 0; c < pairs_.size(); ++c) {
    if (pairs_[c] == nullptr) continue;
    out += c % 2 == 0 ? ",\n \"sends_to_" : ",\n \"receives_from_";
    out += std::to_string(c / 2) + "\": " + json_operations(pairs_[c]->queue);
  }
  return out + "}";
}

}  // namespace stepscope::comm
