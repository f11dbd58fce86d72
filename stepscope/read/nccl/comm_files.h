// SPDX-License-Identifier: Apache-2.0
// Reads any mixture of files about a job's communication: dumps of flight recorders (pickle or
// JSON), logs with NCCL's lines, logs with messages of watchdogs; compressed or not.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/comm_records.h"

namespace stepscope {

struct CommFiles {
  CommRecords records;        // settled
  std::vector<Error> errors;  // one for each file that gave nothing
  std::vector<std::string> remarks;
};

// Directories stand for the files in them; unrelated files there are skipped. The rank of a dump is
// the number in its name (rank_names.h). If names give no ranks, their order does, with a remark.
[[nodiscard]] CommFiles read_comm_files(std::span<const std::string> inputs,
                                        const StopFlag* stop = nullptr);

}  // namespace stepscope
