// SPDX-License-Identifier: Apache-2.0
// Separates a rank's computation from its communication: the same program without its collectives,
// and the same collectives without the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/comm/measured/forwarding.h"

namespace stepscope {

// A rank's calls to its group in a step, in order: its submissions, and its waits. Messages of up
// to 4 KiB are copied into memory of the script. Larger messages stay where they were; that memory
// has to outlive the script.
class CollectiveScript {
 public:
  [[nodiscard]] std::size_t submissions() const { return requests_.size(); }
  [[nodiscard]] std::span<const CollectiveRequest> requests() const { return requests_; }

 private:
  friend class Isolation;
  struct Event {
    bool wait = false;
    std::int64_t index = 0;  // of a request; negative: of the previous step, from its end
  };
  std::vector<Event> events_;
  std::vector<CollectiveRequest> requests_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

// Passes every call on until its mode is changed. It covers this group only: subgroups are passed
// on unchanged. All ranks change the mode at the same place of their program, without unfinished
// tickets; only record() may be called at any time.
class Isolation final : public comm::Forwarding {
 public:
  explicit Isolation(std::unique_ptr<Communicator> inner) : Forwarding(std::move(inner)) {}

  // Collectives complete at once and move no data: their buffers stay unchanged.
  void leave_out(bool left_out) { left_out_ = left_out; }

  // Records the calls from here to taken().
  void record();
  [[nodiscard]] CollectiveScript taken();

  // Runs the script once. From the second replay on, it also waits for the previous step's
  // unfinished collectives at their original places. finish_replay() waits for the rest.
  [[nodiscard]] Result<Done> replay(const CollectiveScript& script);
  [[nodiscard]] Result<Done> finish_replay();

  [[nodiscard]] Result<Ticket> submit(const CollectiveRequest& request) override;
  [[nodiscard]] Result<bool> test(Ticket ticket) override;
  [[nodiscard]] Result<CollectiveInstants> wait(Ticket ticket) override;

 private:
  struct Replayed {
    Ticket ticket{};
    bool waited = false;
  };

  [[nodiscard]] std::unique_ptr<Communicator> decorate(
      std::unique_ptr<Communicator> subgroup) const override {
    return subgroup;
  }
  [[nodiscard]] Result<Done> finish(Replayed& replayed);

  bool left_out_ = false;
  bool recording_ = false;
  std::uint64_t next_ = 0;   // sequence number of the next collective of the inner group
  std::uint64_t first_ = 0;  // of the first recorded one
  std::uint64_t left_out_count_ = 0;
  CollectiveScript script_;
  std::vector<Replayed> before_;  // of the previous replay and of this one
  std::vector<Replayed> now_;
};

}  // namespace stepscope
