// SPDX-License-Identifier: Apache-2.0
// Reads any mixture of files of a job that stands still or ended: dumps of flight recorders (pickle
// or JSON), logs with NCCL's lines or messages of watchdogs, the output of ranks, launchers,
// schedulers and kernels, the status of NCCL's RAS (text or JSON); compressed or not.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/comm_records.h"
#include "stepscope/read/bytes/file_head.h"

namespace stepscope {

struct CommFiles {
  CommRecords records;        // settled
  std::vector<Error> errors;  // one for each file that gave nothing
  std::vector<std::string> remarks;
};

// Whether a file with these first bytes is one of them. A log is one if these bytes already name
// communication or the end of a process.
[[nodiscard]] bool begins_comm_file(const FileHead& head, const std::string& path);

// Directories stand for the files in them; unrelated files there are skipped. The rank of a dump is
// the number in its name (rank_names.h). If names give no ranks, their order does, with a remark.
// A log without any event is kept for its last line, if its name has a rank and other files give
// more. Files in `apart` are left to other readers.
[[nodiscard]] CommFiles read_comm_files(std::span<const std::string> inputs,
                                        const StopFlag* stop = nullptr,
                                        std::span<const std::string> apart = {});

}  // namespace stepscope
