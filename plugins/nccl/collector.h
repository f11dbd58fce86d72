// SPDX-License-Identifier: Apache-2.0
// The writer's side. Events come in any order and are joined to operations. Complete operations
// become rows of their rank's file. The table has a fixed size: if it is full, a new operation
// replaces the one that has been quiet for longest. The replaced operation is written with the
// events known so far.
#pragma once

#include <array>
#include <cstdint>

#include "plugins/nccl/operation.h"
#include "plugins/nccl/row_text.h"
#include "plugins/nccl/session.h"
#include "plugins/nccl/trace_file.h"

namespace stepscope::nccl {

class Collector {
 public:
  // Begins a session. False without memory.
  bool begin(Session& session);
  // Adds an event that has ended.
  void add(Event& event, std::int64_t now);
  // Adds an event that NCCL never ended.
  void add_unfinished(const Event& event);
  // Writes the operations that are complete.
  void settle(std::int64_t now);
  void flush();
  // Writes all remaining operations and completes the files.
  void finish();

 private:
  static constexpr std::uint32_t most_operations = 16384;
  static constexpr std::uint32_t buckets = 2 * most_operations;
  static constexpr std::uint32_t most_proxies = 8192;
  static constexpr std::uint32_t most_api_calls = 8192;

  // A proxy operation's owner, and the steps that came before the operation.
  struct Proxy {
    std::uint64_t id;
    std::uint64_t operation;  // 0 = not known yet
    bool foreign;             // belongs to another process
    ProxySums sums;
  };
  // The user's request if NCCL's own call counts bytes (all-gather, broadcast).
  struct ApiCall {
    std::uint64_t id;
    std::uint64_t count;
    std::uint8_t function;
    std::uint8_t datatype;
  };
  struct RankFile {
    TraceFile file;
    GpuClock clock;
    bool begun = false;  // opening was tried
    bool told = false;   // that it cannot be written
    std::uint32_t correlation = 0;
    std::uint64_t rows_dropped = 0;             // no room in the file, or on the disk
    std::uint64_t orphans = 0;                  // children without their call
    std::uint64_t misdated = 0;                 // calls with the kernel times of others
    std::uint64_t unfinished = 0;               // events that NCCL did not end
    std::array<std::uint64_t, 4> timings = {};  // calls by Timing
  };

  Operation& operation_of(std::uint64_t id, std::int64_t now);
  [[nodiscard]] std::uint32_t bucket_of(std::uint64_t id) const;
  void remove(std::uint32_t slot);
  void unlink(std::uint32_t slot);
  void link(std::uint32_t slot);
  void add_call(const Event& event, std::int64_t now);
  // NCCL finds the times of an operation's kernels by counting the work of a channel on the host
  // and on the GPU. In 2.26 to 2.30.7 the host leaves out messages of a rank to itself, and since
  // 2.29.2 (interface v6) also broadcasts (NVIDIA/nccl#2369). From then on operations of the
  // communicator get the times of others.
  void note_miscount(const Event& call);
  [[nodiscard]] bool misdated(const Operation& operation) const;
  void add_channel(const Event& event, std::int64_t now);
  Proxy& proxy_of(std::uint64_t id);
  void add_proxy_step(const Event& event, std::int64_t now);
  void add_proxy_operation(const Event& event, std::int64_t now);

  void take_api_type(Operation& operation) const;
  void write_operation(Operation& operation);
  void write_row(const Event& event);
  void write(RankFile& rank, const RowText& row);
  RankFile& file_of(std::uint16_t communicator);
  void open_file(std::uint32_t seat);

  void put_distributed(RankFile& rank, std::uint32_t seat);
  void put_counts(RankFile& rank);
  void end_file(std::uint32_t seat);

  // All large data, in memory that begins as zeros and is touched only on use.
  struct Tables {
    std::array<Operation, most_operations> operations;
    std::array<std::uint32_t, buckets> slot_of;        // slot + 1 of an operation; 0 = none
    std::array<std::uint32_t, most_operations> freed;  // slots that were used and are free
    std::array<Proxy, most_proxies> proxies;
    std::array<ApiCall, most_api_calls> api_calls;
    // By communicator: when it first miscounted; 0 = never. ns, CLOCK_MONOTONIC
    std::array<std::int64_t, Session::most_communicators> miscounts_from;
  };

  Session* session_ = nullptr;
  Tables* tables_ = nullptr;
  std::uint32_t freed_count_ = 0;
  std::uint32_t fresh_ = 0;   // slots never used begin here
  std::uint32_t oldest_ = 0;  // slot + 1
  std::uint32_t newest_ = 0;
  std::uint64_t steps_lost_ = 0;
  std::uint64_t recorded_ = 0;  // events that ended
  std::array<RankFile, Session::most_seats> files_ = {};
};

}  // namespace stepscope::nccl
