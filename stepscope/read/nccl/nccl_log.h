// SPDX-License-Identifier: Apache-2.0
// Logs in which NCCL and PyTorch's watchdog wrote, among other output, of one rank or of many: the
// calls of each communicator in order (COLL lines), how ranks are connected, what watchdogs gave up
// on. Several files are read one after the other and then settled together.
//
// Communicators of several processes are one where their commId is (NCCL 2.19 and later); before,
// where the n-th communicator of a size in each process gives each rank once. Where that is not so,
// their calls are not compared, and a note says so.
#pragma once

#include <memory>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/comm_records.h"

namespace stepscope {

class CommLogs {
 public:
  explicit CommLogs(CommRecords& into);
  ~CommLogs();
  CommLogs(const CommLogs&) = delete;
  CommLogs& operator=(const CommLogs&) = delete;

  // Reads one file in bounded memory (beside what it keeps of it). What was not understood is
  // counted in input.notes. Errors: the source's; nothing in it was NCCL's or a watchdog's.
  [[nodiscard]] Result<Done> add(ByteSource& source, CommInput& input);
  // After the last file, and before settle_groups(): ranks, groups and setups.
  void settle();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepscope
