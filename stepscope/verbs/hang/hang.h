// SPDX-License-Identifier: Apache-2.0
// Why a job stands still: which rank is missing in which collective, from flight recorders, NCCL's
// logs and watchdogs.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/event/comm_records.h"
#include "stepscope/say/message.h"

namespace stepscope {

struct HangRequest {
  // Dumps of PyTorch's flight recorder (pickle or JSON), logs with NCCL_DEBUG lines, logs with
  // messages of the watchdog, compressed or not; of as many ranks as there are. A directory stands
  // for the files in it.
  std::vector<std::string> files{};
};

struct HangResult {
  CommRecords records{};
  HangAccount account{};          // refers to records by index
  Messages warnings{};            // what they cannot show or is not understood in them
  std::vector<Error> failures{};  // one a file that gave nothing
};

// Errors: no file records communication (the first of the failures, which are reported);
// interrupted.
[[nodiscard]] Result<HangResult> hang(const HangRequest& request, const Progress& progress = {});

}  // namespace stepscope
