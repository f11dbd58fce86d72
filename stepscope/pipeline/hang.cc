// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/hang.h"

#include "stepscope/read/nccl/comm_files.h"

namespace stepscope {

Result<HangResult> hang(const HangRequest& request, const Progress& progress) {
  CommFiles files = read_comm_files(request.files, progress.stop);
  if (progress.stopped()) return interrupted();
  HangResult result{.records = std::move(files.records),
                    .remarks = std::move(files.remarks),
                    .failures = std::move(files.errors)};
  progress.report(result.failures);
  result.account = find_hang(result.records);
  return result;
}

}  // namespace stepscope
