// SPDX-License-Identifier: Apache-2.0
// Why a job stands still or ended: which rank is missing in which collective, and which error came
// first, from everything that it left: flight recorders, logs of NCCL and of watchdogs, the status
// of NCCL's RAS, dumps of threads, the output of ranks, launchers, schedulers and kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/analysis/hang/incident_account.h"
#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/event/comm_records.h"
#include "stepscope/say/message.h"

namespace stepscope {

struct HangRequest {
  // Any files of the job, compressed or not; of as many ranks as there are. A directory stands for
  // the files in it.
  std::vector<std::string> files{};
};

// Where a process stands by a dump of its threads.
struct StandingProcess {
  std::optional<int> rank{};  // by the names of the files
  std::string name{};         // "rank 3", "ps_7.txt", "ps.txt: Process 12"
  std::string phase{};        // of data/phases: "collective"
  std::string label{};        // … in words
  std::string frame{};        // the innermost frame of the program; may be empty
};

struct HangResult {
  CommRecords records{};
  HangAccount account{};       // refers to records by index
  IncidentAccount incident{};  // the same
  std::vector<StandingProcess> standing{};
  Messages warnings{};            // what they cannot show or is not understood in them
  std::vector<Error> failures{};  // one a file that gave nothing
};

// Errors: no file speaks of communication or of the end of a process (the first of the failures,
// which are reported); interrupted.
[[nodiscard]] Result<HangResult> hang(const HangRequest& request, const Progress& progress = {});

}  // namespace stepscope
