// SPDX-License-Identifier: Apache-2.0
// Logs with lines of NCCL and PyTorch's watchdog among other output, of one rank or of many: the
// calls of each communicator in order (COLL lines), the connections of ranks, timeouts, waits of
// the set-up, and what ended processes (read/incident). Several files are read one after the other
// and then settled together.
//
// A watchdog before PyTorch 2.2 writes no group. Its calls are joined only if their numbers are
// close: ranks of one group that wait for each other are at most a few calls apart.
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
  // understood are counted in input.notes. Errors: those of the source; no line is NCCL's, a
  // watchdog's or of the end of a process. `input` will be the next of CommRecords::inputs.
  // Where the name of a file gives its rank, its last line is kept even with this error, if the
  // caller then adds it to the inputs (`quiet` is set).
  [[nodiscard]] Result<Done> add(ByteSource& source, CommInput& input,
                                 const StopFlag* stop = nullptr, bool* quiet = nullptr);
  // Call after the last file and before settle_groups(). Determines ranks, groups and setups.
  void settle();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepscope
