// SPDX-License-Identifier: Apache-2.0
// Files that tell of a job's communication, of any mixture: dumps of flight recorders (pickle or
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
  std::vector<Error> errors;  // one a file that gave nothing
  std::vector<std::string> remarks;
};

// Directories stand for the files in them; one there that tells nothing is passed over. The rank of
// a dump is the number in its name (rank_names.h); where names tell none, their order, with a
// remark.
[[nodiscard]] CommFiles read_comm_files(std::span<const std::string> inputs,
                                        const StopFlag* stop = nullptr);

}  // namespace stepscope
