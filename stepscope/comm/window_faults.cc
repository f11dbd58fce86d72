// SPDX-License-Identifier: Apache-2.0
// What a window group says when it cannot go on.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "stepscope/comm/futex.h"
#include "stepscope/comm/window_group.h"

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

// The oldest unfinished operation of each queue that waits for others, and for whom.
std::vector<WindowGroup::Blocked> WindowGroup::blocked() const {
  std::vector<Blocked> all;
  if (taking_ < queue_.submitted()) {
    const Operation& operation = queue_[taking_];
    Blocked collective{&operation, {}};
    for (int p = 0; p < ranks_; ++p) {
      if (p == setup_.rank) continue;
      const RankControl& control = window_.control(p);
      const bool no_data = taken_ < staged_ && control.staged.load() <= taken_;
      const bool no_bucket =
          staging_ < queue_.submitted() && control.taken.load() + window_.shape().slots <= staged_;
      if (no_data || no_bucket) collective.by.push_back(p);
    }
    if (!collective.by.empty()) all.push_back(collective);
  }
  for (std::size_t c = 0; c < pairs_.size(); ++c) {
    if (pairs_[c] == nullptr || pairs_[c]->finished == pairs_[c]->queue.submitted()) continue;
    all.push_back({&pairs_[c]->queue[pairs_[c]->finished], {static_cast<int>(c / 2)}});
  }
  return all;
}

std::string WindowGroup::waiting_text(const Operation& operation) const {
  return setup_.name + ": rank " + std::to_string(setup_.rank) + " in " +
         header_text(operation.header);
}

std::string WindowGroup::last_text(int peer) const {
  const auto last = window_.control(peer).position.load();
  return last ? "its last was " + header_text(*last) : "it has called nothing yet";
}

// Peers that can never bring what is waited for.
void WindowGroup::look_for_faults() {
  for (int p = 0; p < ranks_; ++p) {
    const RankControl& control = window_.control(p);
    if (p == setup_.rank || control.state.load() != RankState::failed) continue;
    if (progress()) return;  // it may have staged before
    const std::string theirs(text_of({control.failure.data(), control.failure.size()}));
    const bool ours_too = taking_ < queue_.submitted();
    const std::string own = ours_too ? waiting_text(queue_[taking_])
                                     : setup_.name + ": rank " + std::to_string(setup_.rank);
    failure_ = Error{.what = own + ": rank " + std::to_string(p) + " gave up: " + theirs,
                     .hint = std::string(see_record)};
    return fail(theirs, std::string(see_record));
  }
  for (const Blocked& blocked : this->blocked()) {
    for (const int p : blocked.by) {
      const RankState state = window_.control(p).state.load();
      const PeerProcess& process = peers_[static_cast<std::size_t>(p)];
      const bool dead = state == RankState::dead || (state != RankState::left && process.dead());
      if (!dead && state != RankState::left) continue;
      if (progress()) return;  // what it staged before its end still counts
      std::string end = dead ? "died" : "left the group";
      if (process.pid() != 0) end += " (process " + std::to_string(process.pid()) + ")";
      return fail(waiting_text(*blocked.operation) + ": rank " + std::to_string(p) + " " + end +
                      "; " + last_text(p),
                  std::string(see_record));
    }
  }
}

void WindowGroup::give_up(const Blocked& blocked, Ns waited) {
  std::string who;
  for (const int p : blocked.by) {
    if (!who.empty()) who += "; ";
    const bool stopped = peers_[static_cast<std::size_t>(p)].stopped();
    who += "rank " + std::to_string(p);
    if (stopped) {
      who += " (process " + std::to_string(peers_[static_cast<std::size_t>(p)].pid()) +
             ") is stopped (SIGSTOP); ";
    } else {
      who += " has not come; ";
    }
    who += last_text(p);
  }
  fail(
      waiting_text(*blocked.operation) + ": nothing moved for " + seconds_text(waited) + ": " + who,
      "raise the deadline if this was no hang; " + std::string(see_record));
}

void WindowGroup::report_mismatch(const Operation& operation, int peer,
                                  const BucketHeader& theirs) {
  fail(waiting_text(operation) + ": rank " + std::to_string(peer) + " called " +
           header_text(theirs) + " instead",
       "all ranks of a group must call the same collectives in the same order");
}

// The group is of no use any more: tells the other ranks.
void WindowGroup::fail(const std::string& text, const std::string& hint) {
  if (!failure_) failure_ = Error{.what = text, .hint = hint};
  RankControl& control = window_.control(setup_.rank);
  const std::size_t length = std::min(text.size(), control.failure.size());
  std::memcpy(control.failure.data(), text.data(), length);
  control.state.store(RankState::failed);
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
    out += "}";
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
