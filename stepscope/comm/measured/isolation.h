// SPDX-License-Identifier: Apache-2.0
// Takes a rank's computation and its communication apart: the same program with its collectives
// left out, and the same collectives without the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stepscope/comm/measured/forwarding.h"

namespace stepscope {

// What a rank asked of its group in a step, in order: submissions, and where it waited for which.
// Messages of up to 4 KiB have memory of their own here; larger ones are where they were, which has
// to stay.
class CollectiveScript {
 public:
  [[nodiscard]] std::size_t submissions() const { return requests_.size(); }
  [[nodiscard]] std::span<const CollectiveRequest> requests() const { return requests_; }

 private:
  friend class Isolation;
  struct Event {
    bool wait = false;
    std::int64_t index = 0;  // of a request; below 0: of the step before, counted from its end
  };
  std::vector<Event> events_;
  std::vector<CollectiveRequest> requests_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

// Passes everything on, until told otherwise. Collectives of this group only: subgroups are passed
// on as they are. All ranks change what it does at the same place of their program, with no ticket
// unfinished (record() alone may be called at any time).
class Isolation final : public comm::Forwarding {
 public:
  explicit Isolation(std::unique_ptr<Communicator> inner) : Forwarding(std::move(inner)) {}

  // Collectives are done at once and move nothing: their buffers stay as they are.
  void leave_out(bool left_out) { left_out_ = left_out; }

  // From here to taken().
  void record();
  [[nodiscard]] CollectiveScript taken();

  // Does what the script holds, once; after the first time, waits for what the step before had left
  // under way are where they were, too. finish_replay() waits for the rest.
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
  std::uint64_t first_ = 0;  // of those that are recorded
  std::uint64_t left_out_count_ = 0;
  CollectiveScript script_;
  std::vector<Replayed> before_;  // of the replay before, and of this one
  std::vector<Replayed> now_;
};

}  // namespace stepscope
