// SPDX-License-Identifier: Apache-2.0
// A communicator over MPI for ranks of several hosts.
//
// Each collective first gathers its header from all ranks: different calls are an error, not a
// hang. Then it sends its chunks (collective_steps.h) one after the other. A staged chunk goes out
// as one MPI collective. Received data lies where the buckets of the other ranks would be.
#pragma once

#ifdef STEPSCOPE_HAS_MPI

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/comm/groups/mpi_options.h"
#include "engine/comm/window/flight_record.h"
#include "stepscope/crew/mpi_job.h"

namespace stepscope::comm {

// Uses shared memory if all ranks of `group` are on one host, else MPI. Takes ownership of `group`.
// All ranks of the group call it.
[[nodiscard]] Result<std::unique_ptr<Communicator>> connect(MPI_Comm group, std::string name,
                                                            const MpiOptions& options, Ns deadline);

class MpiExchange final : public Communicator {
 public:
  MpiExchange(MPI_Comm headers, MPI_Comm data, std::string name, MpiOptions options, Ns deadline);
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;
  MpiExchange(MpiExchange&&) = delete;
  MpiExchange& operator=(MpiExchange&&) = delete;
  ~MpiExchange() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return ranks_; }
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Result<Ticket> submit(const CollectiveRequest& request) override;
  [[nodiscard]] Result<bool> test(Ticket ticket) override;
  [[nodiscard]] Result<CollectiveInstants> wait(Ticket ticket) override;
  void set_deadline(Ns deadline) override { deadline_ = deadline; }
  [[nodiscard]] Result<std::unique_ptr<Communicator>> subgroup(std::span<const int> ranks,
                                                               std::string_view name) override;
  [[nodiscard]] std::string flight_record() const override;

 private:
  // The memory of an operation that MPI uses until the operation is complete.
  struct Flight {
    BucketHeader own;                   // sent for it; must not move
    std::vector<BucketHeader> headers;  // of all ranks
    std::vector<MPI_Request> requests;  // of its header, or of a send or receive
    std::size_t chunks_done = 0;
  };
  struct Lane {
    explicit Lane(std::size_t capacity) : queue(capacity), flights(capacity) {}
    OperationQueue queue;
    std::vector<Flight> flights;
    std::uint64_t finished = 0;
    [[nodiscard]] Flight& flight(std::uint64_t s) { return flights[s % flights.size()]; }
  };

  bool progress();
  bool progress_collective();
  bool progress_pair(Lane& lane);
  bool check_headers(const Operation& operation, const Flight& flight);
  void start_chunk(const Operation& operation, std::size_t k);
  [[nodiscard]] std::size_t message_bytes(const Operation& operation) const;
  [[nodiscard]] StepPlace place_of(const Operation& operation) const;
  void start_pair(Operation& operation, Flight& flight);
  void give_up(Ns waited);
  Result<Operation*> find(Ticket ticket);
  static void finish(Operation& operation);

  MPI_Comm headers_;
  MPI_Comm data_;
  std::string name_;
  MpiOptions options_;
  Ns deadline_;
  int rank_ = 0;
  int ranks_ = 1;
  Lane collectives_;
  std::vector<std::unique_ptr<Lane>> pairs_;  // by channel
  MPI_Request chunk_ = MPI_REQUEST_NULL;      // of the oldest unfinished collective
  bool chunk_started_ = false;
  std::vector<std::byte> staged_;
  std::vector<std::byte> arrived_;
  std::vector<const std::byte*> slots_;
  std::vector<int> counts_, offsets_, arrived_offsets_;
  std::optional<Error> failure_;
};

}  // namespace stepscope::comm

#endif
