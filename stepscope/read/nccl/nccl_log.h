// SPDX-License-Identifier: Apache-2.0
// Logs with lines of NCCL and PyTorch's watchdog among other output, of one rank or of many: the
// calls of each communicator in order (COLL lines), the connections of ranks, and timeouts. Several
// files are read one after the other and then settled together.
//
// Communicators of several processes are joined by commId (NCCL 2.19 and later). Before, the n-th
// communicators of one size in each process are joined if together they have each rank once.
// Otherwise their calls are not compared, and a note says so.
#pragma once

#include <memory>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/comm_records.h"

namespace stepscope {

class CommLogs {
 public:
  explicit CommLogs(CommRecords& into);
  ~CommLogs();
  CommLogs(const CommLogs&) = delete;
  CommLogs& operator=(const CommLogs&) = delete;

  // Reads one file. Memory is bounded except for the records it keeps. Lines that are not
  // understood are counted in input.notes. Errors: those of the source; no line is NCCL's or a
  // watchdog's.
  [[nodiscard]] Result<Done> add(ByteSource& source, CommInput& input,
                                 const StopFlag* stop = nullptr);
  // Call after the last file and before settle_groups(). Determines ranks, groups and setups.
  void settle();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepscope
