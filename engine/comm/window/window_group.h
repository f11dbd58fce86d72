// SPDX-License-Identifier: Apache-2.0
// A communicator over a window of memory that all its ranks (threads or processes of one host)
// share.
//
// Collectives are cut into chunks (collective_steps.h). Chunks are counted through the life of the
// group. Chunk c of a rank goes into its bucket c % slots once all peers have taken chunk c -
// slots. A chunk can be taken once all ranks have staged theirs. submit() stages as many chunks as
// fit. submit(), test() and wait() process all submissions in order, so ranks may wait in different
// orders. If the host has a core for each rank, a waiting rank first polls for a bounded time. Then
// it sleeps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/comm/window/flight_record.h"
#include "engine/comm/window/window.h"
#include "stepscope/crew/peer_process.h"

namespace stepscope::comm {

inline constexpr Ns look_interval = std::chrono::milliseconds(5);  // for dead or failed peers

struct WindowGroupSetup {
  std::shared_ptr<Window> window;
  int rank = 0;
  std::string name = "world";
  Ns deadline = std::chrono::seconds(60);
  bool processes = false;  // ranks are processes, else threads of this one
  bool spin = false;       // there is a core for each rank
};

class WindowGroup final : public Communicator {
 public:
  explicit WindowGroup(WindowGroupSetup setup);
  WindowGroup(const WindowGroup&) = delete;
  WindowGroup& operator=(const WindowGroup&) = delete;
  WindowGroup(WindowGroup&&) = delete;
  WindowGroup& operator=(WindowGroup&&) = delete;
  ~WindowGroup() override;

  [[nodiscard]] int rank() const override { return setup_.rank; }
  [[nodiscard]] int size() const override { return ranks_; }
  [[nodiscard]] std::string_view name() const override { return setup_.name; }
  [[nodiscard]] Result<Ticket> submit(const CollectiveRequest& request) override;
  [[nodiscard]] Result<bool> test(Ticket ticket) override;
  [[nodiscard]] Result<CollectiveInstants> wait(Ticket ticket) override;
  void set_deadline(Ns deadline) override { setup_.deadline = deadline; }
  [[nodiscard]] Result<std::unique_ptr<Communicator>> subgroup(std::span<const int> ranks,
                                                               std::string_view name) override;
  [[nodiscard]] std::string flight_record() const override;

 private:
  // Sends to one rank, or receives from it.
  struct PairLane {
    explicit PairLane(std::size_t capacity) : queue(capacity) {}
    OperationQueue queue;
    std::uint64_t finished = 0;  // operations
    std::uint64_t chunks = 0;    // staged or taken
    std::uint64_t next_first = 0;
  };
  // window_group.cc
  Result<Ticket> submit_pair(const CollectiveRequest& request);
  void begin(Operation& operation, const CollectiveRequest& request, std::uint64_t sequence);
  bool progress();
  bool stage_chunk();
  bool take_chunk();
  bool slot_free(std::uint64_t chunk);
  bool peers_staged();
  void note_arrival(Operation& operation);
  bool progress_pairs();
  void end_chunk(Operation& operation, std::size_t k, int peer, PairLane& lane);
  bool send_chunk(int peer, PairLane& lane);
  bool recv_chunk(int peer, PairLane& lane);
  void finish(Operation& operation);
  void wake_all() const;
  void sleep(Ns limit, bool& moved);
  Result<Operation*> find(Ticket ticket);

  // window_faults.cc
  [[nodiscard]] bool blocks(int peer) const;
  void look_for_faults(Ns now, Ns waited);
  bool peer_gave_up(int peer);
  bool peer_ended(const Operation& operation, int peer);
  void give_up(Ns waited);
  void report_mismatch(const Operation& operation, int peer, const BucketHeader& theirs);
  void fail(const std::string& text, const std::string& hint);
  [[nodiscard]] std::string waiting_text(const Operation& operation) const;
  [[nodiscard]] std::string late_text(int peer) const;
  [[nodiscard]] std::string last_text(int peer) const;

  // window_subgroup.cc
  Result<std::shared_ptr<Window>> shared_window(std::span<const int> ranks, std::string_view name);

  WindowGroupSetup setup_;
  Window& window_;
  int ranks_;
  OperationQueue queue_;
  std::uint64_t next_chunk_ = 0;  // of the next collective
  std::uint64_t staging_ = 0;     // sequence of the collective that stages next
  std::uint64_t taking_ = 0;      // sequence of the oldest unfinished collective
  std::uint64_t staged_ = 0;      // chunks
  std::uint64_t taken_ = 0;       // chunks
  std::uint64_t free_until_ = 0;  // chunks below have a free bucket
  std::vector<std::uint64_t> seen_staged_;
  std::vector<const std::byte*> slots_;
  std::vector<std::unique_ptr<PairLane>> pairs_;  // by channel
  std::size_t unfinished_pairs_ = 0;
  std::vector<PeerProcess> peers_;
  Ns looked_at_{};
  std::optional<Error> failure_;
};

// The fault of a list of ranks: it must name at least one rank of a group of `size`, each once.
// Absent for a valid list.
[[nodiscard]] std::optional<Error> ranks_fault(std::span<const int> ranks, int size);
// The fault of a request's sizes and overlaps by the table in communicator.h. Absent for a valid
// request.
[[nodiscard]] std::optional<Error> request_fault(const CollectiveRequest& request, int rank,
                                                 int ranks);

}  // namespace stepscope::comm
